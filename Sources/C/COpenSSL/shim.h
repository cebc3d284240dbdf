#pragma once
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <openssl/rsa.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/err.h>
#include <openssl/crypto.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/bio.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// SHA-256 of whole blocks, FIPS 180-4, 6.2.2, from one state to the next. By a deprecated function: the others keep the
// state to themselves, and messages that go on in parallel lanes need it.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static inline void ferry_sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    SHA256_CTX context = {.md_len = SHA256_DIGEST_LENGTH};
    memcpy(context.h, state, sizeof context.h);
    SHA256_Update(&context, bytes, blocks * SHA256_CBLOCK);
    memcpy(state, context.h, sizeof context.h);
}
#pragma clang diagnostic pop

// In C, because OSSL_PARAM_BLD keeps the pointers to the names. Returns NULL if the numbers are not
// a valid key.
static inline EVP_PKEY *ferry_rsa_public_key(
    const unsigned char *modulus, int modulus_size, const unsigned char *exponent, int exponent_size) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = NULL;
    BIGNUM *n = BN_bin2bn(modulus, modulus_size, NULL);
    BIGNUM *e = BN_bin2bn(exponent, exponent_size, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    if (n && e && builder && context && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) &&
        (parameters = OSSL_PARAM_BLD_to_param(builder)) && EVP_PKEY_fromdata_init(context) == 1 &&
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
        key = NULL;
    OSSL_PARAM_free(parameters);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_BLD_free(builder);
    BN_free(e);
    BN_free(n);
    return key;
}

// The public key of a point on P-256, in the uncompressed form; NULL if it is not on the curve.
static inline EVP_PKEY *ferry_ec_public_key(const unsigned char *point, int size) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"prime256v1", 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, (size_t)size),
        OSSL_PARAM_construct_end(),
    };
    if (context && EVP_PKEY_fromdata_init(context) == 1 &&
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    ERR_clear_error();
    return key;
}

// Offers only HTTP/2: RFC 7301 with RFC 9113.
static int ferry_choose_http2(
    SSL *session, const unsigned char **chosen, unsigned char *size, const unsigned char *offered, unsigned int length,
    void *context) {
    static const unsigned char wanted[] = "\x02h2";
    (void)session;
    (void)context;
    int found = SSL_select_next_proto((unsigned char **)chosen, size, wanted, sizeof wanted - 1, offered, length);
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Creates the TLS context of an HTTP/2 server. Returns NULL if the chain or the key, both PEM,
// cannot be used or do not belong together.
// In C, because half of these are macros.
static inline SSL_CTX *ferry_tls_http2_server(const char *chain, int chain_size, const char *key, int key_size) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    BIO *certificates = BIO_new_mem_buf(chain, chain_size);
    BIO *secret = BIO_new_mem_buf(key, key_size);
    X509 *certificate = NULL;
    EVP_PKEY *private_key = NULL;
    int works = context && certificates && secret && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
        (certificate = PEM_read_bio_X509(certificates, NULL, NULL, (void *)"")) &&
        SSL_CTX_use_certificate(context, certificate) == 1 &&
        (private_key = PEM_read_bio_PrivateKey(secret, NULL, NULL, (void *)"")) &&
        SSL_CTX_use_PrivateKey(context, private_key) == 1 && SSL_CTX_check_private_key(context) == 1;
    X509 *issuer = NULL;
    while (works && (issuer = PEM_read_bio_X509(certificates, NULL, NULL, (void *)""))) {
        if (SSL_CTX_add0_chain_cert(context, issuer) == 1) continue;
        X509_free(issuer);
        works = 0;
    }
    ERR_clear_error();
    X509_free(certificate);
    EVP_PKEY_free(private_key);
    BIO_free(certificates);
    BIO_free(secret);
    if (works) {
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_alpn_select_cb(context, ferry_choose_http2, NULL);
        return context;
    }
    SSL_CTX_free(context);
    return NULL;
}

// Returns the TLS context of an HTTP/2 client. It trusts the PEM certificates in `roots`, or the
// system's if that is NULL. Returns NULL if no certificate can be read from `roots`, or one is damaged.
static inline SSL_CTX *ferry_tls_http2_client(const char *roots, int roots_size) {
    static const unsigned char wanted[] = "\x02h2";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int works = context && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
        SSL_CTX_set_alpn_protos(context, wanted, sizeof wanted - 1) == 0;
    if (works && !roots) works = SSL_CTX_set_default_verify_paths(context) == 1;
    if (works && roots) {
        BIO *certificates = BIO_new_mem_buf(roots, roots_size);
        X509 *certificate = NULL;
        int count = 0;
        while (works && certificates && (certificate = PEM_read_bio_X509_AUX(certificates, NULL, NULL, (void *)""))) {
            works = X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate) == 1;
            X509_free(certificate);
            count++;
        }
        works = works && count > 0 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
        BIO_free(certificates);
    }
    ERR_clear_error();
    if (works) {
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
        return context;
    }
    SSL_CTX_free(context);
    return NULL;
}

// A client's session that accepts only a certificate for that name, or for that address. NULL if it cannot be made.
static inline SSL *ferry_tls_client_session(SSL_CTX *context, const char *name, int is_address) {
    SSL *session = SSL_new(context);
    if (!session) return NULL;
    X509_VERIFY_PARAM *check = SSL_get0_param(session);
    X509_VERIFY_PARAM_set_hostflags(check, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    int works = is_address ? X509_VERIFY_PARAM_set1_ip_asc(check, name) == 1
                           : SSL_set1_host(session, name) == 1 && SSL_set_tlsext_host_name(session, name) == 1;
    if (!works) {
        SSL_free(session);
        return NULL;
    }
    SSL_set_connect_state(session);
    return session;
}

// Whether the server has agreed to HTTP/2.
static inline int ferry_tls_is_http2(const SSL *session) {
    const unsigned char *name = NULL;
    unsigned int size = 0;
    SSL_get0_alpn_selected(session, &name, &size);
    return size == 2 && name[0] == 'h' && name[1] == '2';
}

// OpenSSL's own sockets raise SIGPIPE where the peer is gone, which ends a process that does not ignore it.

static int ferry_tls_socket_write(BIO *bio, const char *bytes, int count) {
    BIO_clear_retry_flags(bio);
    int sent = (int)send((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)count, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return sent;
}

static int ferry_tls_socket_read(BIO *bio, char *bytes, int count) {
    BIO_clear_retry_flags(bio);
    int received = (int)recv((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)count, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    return received;
}

static long ferry_tls_socket_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

// To be called once. NULL if memory is short.
static inline BIO_METHOD *ferry_tls_sockets(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
    if (!method) return NULL;
    BIO_meth_set_write(method, ferry_tls_socket_write);
    BIO_meth_set_read(method, ferry_tls_socket_read);
    BIO_meth_set_ctrl(method, ferry_tls_socket_control);
    return method;
}

// Without a socket, where memory is short, every operation of the session fails.
static inline void ferry_tls_use_socket(SSL *session, const BIO_METHOD *sockets, int descriptor) {
    BIO *bio = sockets ? BIO_new(sockets) : NULL;
    if (!bio) return;
    BIO_set_data(bio, (void *)(intptr_t)descriptor);
    BIO_set_init(bio, 1);
    SSL_set_bio(session, bio, bio);
}

#pragma once
// The contexts of SHA-256 and of `md5_lanes.h` use the interface with public state, which OpenSSL
// has deprecated.
#define OPENSSL_SUPPRESS_DEPRECATED
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
#include "md5_lanes.h"
#include "sha256_lanes.h"
#include "sha256_pair.h"

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

#pragma once
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

// Here rather than in Swift, as OSSL_PARAM_BLD keeps the pointers to the names. NULL if the numbers make no key.
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

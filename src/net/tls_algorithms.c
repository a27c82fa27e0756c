/* SPDX-License-Identifier: Apache-2.0
 * tls_algorithms.c - which of OpenSSL's algorithms the static program holds. OpenSSL takes them
 * from a "provider"; its default one names all there are, and the linker must keep what is named.
 * This one stands in its place, under its name, and names what TLS 1.2 and 1.3 and keys in PEM
 * files need. What is not here is not offered in a handshake. The names are those of OpenSSL 3.0,
 * which Debian 12 has; with another version the Makefile leaves this file out. The functions of the
 * C library that OpenSSL names and that no call of ours reaches (names of hosts, shared objects)
 * end here, too. */
#include <dlfcn.h>
#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/core_dispatch.h>
#include <openssl/evp.h>

/* ---- of OpenSSL, in no header ---- */
typedef struct prov_ctx_st ProviderContext;
ProviderContext *ossl_prov_ctx_new(void);
void ossl_prov_ctx_free(ProviderContext *);
void ossl_prov_ctx_set0_libctx(ProviderContext *, OSSL_LIB_CTX *);
void ossl_prov_ctx_set0_handle(ProviderContext *, const OSSL_CORE_HANDLE *);
void ossl_prov_ctx_set0_core_bio_method(ProviderContext *, BIO_METHOD *);
BIO_METHOD *ossl_prov_ctx_get0_core_bio_method(ProviderContext *);
BIO_METHOD *ossl_bio_prov_init_bio_method(void);
int ossl_prov_bio_from_dispatch(const OSSL_DISPATCH *);
int ossl_prov_seeding_from_dispatch(const OSSL_DISPATCH *);
int ossl_prov_get_capabilities(void *, const char *, OSSL_CALLBACK *, void *);
OSSL_provider_init_fn ossl_default_provider_init, ossl_base_provider_init, ossl_null_provider_init;
void openssl_add_all_ciphers_int(void), openssl_add_all_digests_int(void);
void engine_load_afalg_int(void), engine_load_dynamic_int(void), engine_load_padlock_int(void),
    engine_load_rdrand_int(void);

typedef const OSSL_DISPATCH Functions[];
extern Functions ossl_sha1_functions, ossl_sha224_functions, ossl_sha256_functions,
    ossl_sha384_functions, ossl_sha512_functions, ossl_shake_256_functions,
    ossl_aes128gcm_functions, ossl_aes256gcm_functions, ossl_chacha20_ossl_poly1305_functions,
    ossl_aes256cbc_functions,
    ossl_aes256ctr_functions, ossl_aes256ecb_functions, ossl_hmac_functions,
    ossl_kdf_tls1_3_kdf_functions, ossl_kdf_tls1_prf_functions, ossl_drbg_ctr_functions,
    ossl_seed_src_functions, ossl_rsa_keymgmt_functions, ossl_rsapss_keymgmt_functions,
    ossl_ec_keymgmt_functions, ossl_x25519_keymgmt_functions, ossl_x448_keymgmt_functions,
    ossl_ed25519_keymgmt_functions, ossl_ed448_keymgmt_functions,
    ossl_mac_legacy_keymgmt_functions, ossl_ecdh_keyexch_functions, ossl_x25519_keyexch_functions,
    ossl_x448_keyexch_functions, ossl_rsa_signature_functions, ossl_ecdsa_signature_functions,
    ossl_ed25519_signature_functions, ossl_ed448_signature_functions,
    ossl_mac_legacy_hmac_signature_functions, ossl_pem_to_der_decoder_functions,
    ossl_SubjectPublicKeyInfo_der_to_der_decoder_functions,
    ossl_EncryptedPrivateKeyInfo_der_to_der_decoder_functions,
    ossl_RSA_der_to_rsa_decoder_functions, ossl_PrivateKeyInfo_der_to_rsa_decoder_functions,
    ossl_SubjectPublicKeyInfo_der_to_rsa_decoder_functions,
    ossl_PrivateKeyInfo_der_to_rsapss_decoder_functions,
    ossl_SubjectPublicKeyInfo_der_to_rsapss_decoder_functions, ossl_EC_der_to_ec_decoder_functions,
    ossl_PrivateKeyInfo_der_to_ec_decoder_functions,
    ossl_SubjectPublicKeyInfo_der_to_ec_decoder_functions,
    ossl_PrivateKeyInfo_der_to_ed25519_decoder_functions,
    ossl_SubjectPublicKeyInfo_der_to_ed25519_decoder_functions,
    ossl_PrivateKeyInfo_der_to_ed448_decoder_functions,
    ossl_SubjectPublicKeyInfo_der_to_ed448_decoder_functions;

/* ---- the list: names, an OID among them where files have one; who asks; how ---- */
#define ANY "provider=default"
#define DER ANY ",input=der,structure="
#define RSA "RSA:rsaEncryption:1.2.840.113549.1.1.1"
#define RSA_PSS "RSA-PSS:RSASSA-PSS:1.2.840.113549.1.1.10"
#define EC "EC:id-ecPublicKey:1.2.840.10045.2.1"
#define X25519 "X25519:1.3.101.110"
#define X448 "X448:1.3.101.111"
#define ED25519 "ED25519:1.3.101.112"
#define ED448 "ED448:1.3.101.113"

static const OSSL_ALGORITHM digests[] = {
    { "SHA1:SHA-1:SSL3-SHA1:1.3.14.3.2.26", ANY, ossl_sha1_functions },
    { "SHA2-224:SHA-224:SHA224:2.16.840.1.101.3.4.2.4", ANY, ossl_sha224_functions },
    { "SHA2-256:SHA-256:SHA256:2.16.840.1.101.3.4.2.1", ANY, ossl_sha256_functions },
    { "SHA2-384:SHA-384:SHA384:2.16.840.1.101.3.4.2.2", ANY, ossl_sha384_functions },
    { "SHA2-512:SHA-512:SHA512:2.16.840.1.101.3.4.2.3", ANY, ossl_sha512_functions },
    { "SHAKE-256:SHAKE256:2.16.840.1.101.3.4.2.12", ANY, ossl_shake_256_functions }, /* of ED448 */
    { 0 }
};
static const OSSL_ALGORITHM ciphers[] = {
    { "AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", ANY, ossl_aes128gcm_functions },
    { "AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", ANY, ossl_aes256gcm_functions },
    { "ChaCha20-Poly1305", ANY, ossl_chacha20_ossl_poly1305_functions },
    { "AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", ANY, ossl_aes256cbc_functions }, /* tickets */
    { "AES-256-CTR", ANY, ossl_aes256ctr_functions },                                /* random */
    { "AES-256-ECB:2.16.840.1.101.3.4.1.41", ANY, ossl_aes256ecb_functions },        /* numbers */
    { 0 }
};
static const OSSL_ALGORITHM macs[] = { { "HMAC", ANY, ossl_hmac_functions }, { 0 } };
static const OSSL_ALGORITHM kdfs[] = { { "TLS13-KDF", ANY, ossl_kdf_tls1_3_kdf_functions },
                                       { "TLS1-PRF", ANY, ossl_kdf_tls1_prf_functions },
                                       { 0 } };
static const OSSL_ALGORITHM rands[] = { { "CTR-DRBG", ANY, ossl_drbg_ctr_functions },
                                        { "SEED-SRC", ANY, ossl_seed_src_functions },
                                        { 0 } };
static const OSSL_ALGORITHM keys[] = { { RSA, ANY, ossl_rsa_keymgmt_functions },
                                       { RSA_PSS, ANY, ossl_rsapss_keymgmt_functions },
                                       { EC, ANY, ossl_ec_keymgmt_functions },
                                       { X25519, ANY, ossl_x25519_keymgmt_functions },
                                       { X448, ANY, ossl_x448_keymgmt_functions },
                                       { ED25519, ANY, ossl_ed25519_keymgmt_functions },
                                       { ED448, ANY, ossl_ed448_keymgmt_functions },
                                       { "HMAC", ANY, ossl_mac_legacy_keymgmt_functions },
                                       { 0 } };
static const OSSL_ALGORITHM exchanges[] = { { "ECDH", ANY, ossl_ecdh_keyexch_functions },
                                            { X25519, ANY, ossl_x25519_keyexch_functions },
                                            { X448, ANY, ossl_x448_keyexch_functions },
                                            { 0 } };
static const OSSL_ALGORITHM signatures[] = {
    { RSA, ANY, ossl_rsa_signature_functions },
    { "ECDSA", ANY, ossl_ecdsa_signature_functions },
    { ED25519, ANY, ossl_ed25519_signature_functions },
    { ED448, ANY, ossl_ed448_signature_functions },
    { "HMAC", ANY, ossl_mac_legacy_hmac_signature_functions }, /* of a resumed session */
    { 0 }
};
#define KEY DER "PrivateKeyInfo"
#define PUBLIC DER "SubjectPublicKeyInfo"
static const OSSL_ALGORITHM decoders[] = {
    { "DER", ANY ",input=pem", ossl_pem_to_der_decoder_functions },
    { "DER", PUBLIC, ossl_SubjectPublicKeyInfo_der_to_der_decoder_functions },
    { "DER", DER "EncryptedPrivateKeyInfo",
      ossl_EncryptedPrivateKeyInfo_der_to_der_decoder_functions },
    { "RSA", DER "rsa", ossl_RSA_der_to_rsa_decoder_functions },
    { "RSA", KEY, ossl_PrivateKeyInfo_der_to_rsa_decoder_functions },
    { "RSA", PUBLIC, ossl_SubjectPublicKeyInfo_der_to_rsa_decoder_functions },
    { "RSA-PSS", KEY, ossl_PrivateKeyInfo_der_to_rsapss_decoder_functions },
    { "RSA-PSS", PUBLIC, ossl_SubjectPublicKeyInfo_der_to_rsapss_decoder_functions },
    { "EC", DER "ec", ossl_EC_der_to_ec_decoder_functions },
    { "EC", KEY, ossl_PrivateKeyInfo_der_to_ec_decoder_functions },
    { "EC", PUBLIC, ossl_SubjectPublicKeyInfo_der_to_ec_decoder_functions },
    { "ED25519", KEY, ossl_PrivateKeyInfo_der_to_ed25519_decoder_functions },
    { "ED25519", PUBLIC, ossl_SubjectPublicKeyInfo_der_to_ed25519_decoder_functions },
    { "ED448", KEY, ossl_PrivateKeyInfo_der_to_ed448_decoder_functions },
    { "ED448", PUBLIC, ossl_SubjectPublicKeyInfo_der_to_ed448_decoder_functions },
    { 0 }
};

/* ---- the provider ---- */
static const OSSL_ALGORITHM *query(void *context, int operation, int *uncached)
{
    static const OSSL_ALGORITHM *const lists[] = {
        [OSSL_OP_DIGEST] = digests, [OSSL_OP_CIPHER] = ciphers,   [OSSL_OP_MAC] = macs,
        [OSSL_OP_KDF] = kdfs,       [OSSL_OP_RAND] = rands,       [OSSL_OP_KEYMGMT] = keys,
        [OSSL_OP_KEYEXCH] = exchanges, [OSSL_OP_SIGNATURE] = signatures,
        [OSSL_OP_DECODER] = decoders,
    };
    (void)context;
    *uncached = 0;
    int known = (int)(sizeof lists / sizeof *lists);
    return operation > 0 && operation < known ? lists[operation] : NULL;
}

static void tls_algorithms_end(void *context)
{
    BIO_meth_free(ossl_prov_ctx_get0_core_bio_method(context));
    ossl_prov_ctx_free(context);
}

static OSSL_LIB_CTX *library(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in)
{
    for (; in->function_id; in++)
        if (in->function_id == OSSL_FUNC_CORE_GET_LIBCTX)
            return (OSSL_LIB_CTX *)OSSL_FUNC_core_get_libctx(in)(core);
    return NULL;
}

int ossl_default_provider_init(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in,
                               const OSSL_DISPATCH **out, void **context)
{
    static const OSSL_DISPATCH functions[] = {
        { OSSL_FUNC_PROVIDER_TEARDOWN, (void (*)(void))tls_algorithms_end },
        { OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query },
        { OSSL_FUNC_PROVIDER_GET_CAPABILITIES, (void (*)(void))ossl_prov_get_capabilities },
        { 0 }
    };
    if (!ossl_prov_bio_from_dispatch(in) || !ossl_prov_seeding_from_dispatch(in)) return 0;
    ProviderContext *made = ossl_prov_ctx_new();
    BIO_METHOD *bio = made ? ossl_bio_prov_init_bio_method() : NULL;
    if (!bio) return ossl_prov_ctx_free(made), 0;
    ossl_prov_ctx_set0_libctx(made, library(core, in));
    ossl_prov_ctx_set0_handle(made, core);
    ossl_prov_ctx_set0_core_bio_method(made, bio);
    *out = functions;
    *context = made;
    return 1;
}

/* Nobody asks for the other providers. */
int ossl_base_provider_init(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in,
                            const OSSL_DISPATCH **out, void **context)
{
    (void)core, (void)in, (void)out, (void)context;
    return 0;
}

int ossl_null_provider_init(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in,
                            const OSSL_DISPATCH **out, void **context)
{
    return ossl_base_provider_init(core, in, out, context);
}

/* ---- what there was before providers: signatures of certificates still find digests by it ---- */
void openssl_add_all_digests_int(void)
{
    EVP_add_digest(EVP_sha1());
    EVP_add_digest(EVP_sha224());
    EVP_add_digest(EVP_sha256());
    EVP_add_digest(EVP_sha384());
    EVP_add_digest(EVP_sha512());
}
void openssl_add_all_ciphers_int(void) {}
void engine_load_afalg_int(void) {}
void engine_load_dynamic_int(void) {}
void engine_load_padlock_int(void) {}
void engine_load_rdrand_int(void) {}

/* ---- of the C library: a static program has neither names of hosts nor shared objects ---- */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    (void)host, (void)service, (void)hints, (void)found;
    return EAI_FAIL;
}
void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}
int getnameinfo(const struct sockaddr *address, socklen_t n, char *host, socklen_t host_n,
                char *service, socklen_t service_n, int flags)
{
    (void)address, (void)n, (void)host, (void)host_n, (void)service, (void)service_n, (void)flags;
    return EAI_FAIL;
}
struct hostent *gethostbyname(const char *name)
{
    (void)name;
    return NULL;
}
void *dlopen(const char *file, int mode)
{
    (void)file, (void)mode;
    return NULL;
}
void *dlsym(void *restrict object, const char *restrict name)
{
    (void)object, (void)name;
    return NULL;
}
int dlclose(void *object)
{
    (void)object;
    return 0;
}
int dladdr(const void *address, Dl_info *found)
{
    (void)address, (void)found;
    return 0;
}
char *dlerror(void)
{
    return "a static program loads no shared objects";
}

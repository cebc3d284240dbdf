#pragma once
#include <curl/curl.h>
#include <string.h>

// Swift cannot call variadic functions; one wrapper for each type of argument.

typedef size_t (*ferry_curl_data_callback)(char *, size_t, size_t, void *);
typedef int (*ferry_curl_seek_callback)(void *, curl_off_t, int);

static inline CURLcode ferry_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ferry_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ferry_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ferry_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ferry_curl_set_list(CURL *handle, struct curl_slist *value) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, value);
}
static inline CURLcode ferry_curl_set_data_callback(CURL *handle, CURLoption option, ferry_curl_data_callback value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ferry_curl_set_seek_callback(CURL *handle, ferry_curl_seek_callback value) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}
static inline CURLMcode ferry_curl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}
static inline void ferry_curl_multi_set_callbacks(
    CURLM *handle, curl_socket_callback socket, curl_multi_timer_callback timer, void *context) {
    curl_multi_setopt(handle, CURLMOPT_SOCKETFUNCTION, socket);
    curl_multi_setopt(handle, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(handle, CURLMOPT_TIMERFUNCTION, timer);
    curl_multi_setopt(handle, CURLMOPT_TIMERDATA, context);
}
static inline long ferry_curl_get_long(CURL *handle, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}
// The "Expire date" of the first certificate of a transfer with CURLOPT_CERTINFO; NULL where there is none.
static inline const char *ferry_curl_certificate_expiry(CURL *handle) {
    struct curl_certinfo *chain = NULL;
    if (curl_easy_getinfo(handle, CURLINFO_CERTINFO, &chain) != CURLE_OK || !chain || chain->num_of_certs < 1) return NULL;
    for (struct curl_slist *line = chain->certinfo[0]; line; line = line->next)
        if (strncmp(line->data, "Expire date:", 12) == 0) return line->data + 12;
    return NULL;
}
// CURLMsg keeps the result in a union, which reads better here than in Swift.
static inline CURLcode ferry_curl_message_result(const CURLMsg *message) { return message->data.result; }

// A viewer's message => a message or nothing; an event that was read prints and reads back the
// same. Never a crash.
#include "live/message.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Message message;
    if (!message_parse((const char *)data, size, &message) || message.kind != MESSAGE_EVENT)
        return 0;
    char text[1024];
    BrimEvent again;
    BrimError error;
    if (!brim_event_print(&message.event, text, sizeof text)) abort();
    if (brim_event_parse(text, strlen(text), &again, &error) != BRIM_OK) abort();
    if (memcmp(&message.event, &again, sizeof again) != 0) abort();
    return 0;
}

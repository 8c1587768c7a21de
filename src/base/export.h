// Marks what libcalotype exports; everything else is compiled with hidden visibility.
#pragma once
#define CALO_EXPORT __attribute__((visibility("default")))

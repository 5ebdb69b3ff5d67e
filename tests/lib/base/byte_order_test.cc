#include "lib/base/byte_order.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ByteOrderTest, StoresTheMostSignificantByteFirst) {
  const Be32 value(0x01020304);
  unsigned char bytes[4];
  std::memcpy(bytes, &value, 4);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[1], 2);
  EXPECT_EQ(bytes[2], 3);
  EXPECT_EQ(bytes[3], 4);
  EXPECT_EQ(value.Get(), 0x01020304u);
}

TEST(ByteOrderTest, ReadsFromAnyAddress) {
  const unsigned char packet[] = {0xff, 0x08, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
  EXPECT_EQ(reinterpret_cast<const Be16*>(packet + 1)->Get(), 0x0800);
  EXPECT_EQ(reinterpret_cast<const Be64*>(packet + 3)->Get(), 0x1122334455667788u);
}

TEST(ByteOrderTest, MasksWithoutConverting) {
  EXPECT_EQ((Be16(0x1fff) & Be16(0x0fff)).Get(), 0x0fff);
  EXPECT_EQ((Be16(0x0100) | Be16(0x0002)).Get(), 0x0102);
  EXPECT_EQ((~Be32(0)).Get(), 0xffffffffu);
  EXPECT_EQ(Be32::FromRaw(Be32(7).Raw()), Be32(7));
}

}  // namespace
}  // namespace sluice

// Interned names: equality, order of creation and hashing by pointer; the text lives as long as the process.
#pragma once

#include <iosfwd>
#include <string>

#include "../base/export.h"

namespace calotype::ir {

/// An interned string. Copies cost a pointer. Thread-safe.
class CALO_EXPORT Name {
public:
  Name();  ///< the empty name
  Name(const std::string &text);
  Name(const char *text) : Name(std::string(text)) {}
  const std::string &str() const { return *text_; }
  operator const std::string &() const { return *text_; }
  const char *c_str() const { return text_->c_str(); }
  bool empty() const { return text_->empty(); }
  const void *key() const { return text_; }
  friend bool operator==(Name a, Name b) { return a.text_ == b.text_; }
  friend bool operator!=(Name a, Name b) { return a.text_ != b.text_; }
  friend bool operator<(Name a, Name b) {
    return a.text_ != b.text_ && *a.text_ < *b.text_;
  }  // by text

private:
  const std::string *text_;
};

inline std::string operator+(Name a, const std::string &b) { return a.str() + b; }
inline std::string operator+(Name a, const char *b) { return a.str() + b; }
inline std::string operator+(const std::string &a, Name b) { return a + b.str(); }
inline std::string operator+(const char *a, Name b) { return a + b.str(); }
CALO_EXPORT std::ostream &operator<<(std::ostream &o, Name n);
inline bool operator==(Name a, const char *b) { return a.str() == b; }
inline bool operator==(Name a, const std::string &b) { return a.str() == b; }
inline bool operator!=(Name a, const char *b) { return a.str() != b; }
inline bool operator!=(Name a, const std::string &b) { return a.str() != b; }

struct NameHash {
  size_t operator()(Name n) const { return std::hash<const void *>()(n.key()); }
};

}  // namespace calotype::ir
template <> struct std::hash<calotype::ir::Name> : calotype::ir::NameHash {};

// What a page is about: reports of fits, results of sweeps and ledgers, as JSON that the program wrote.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace dpreduce {

enum class DocumentKind { kFit, kSweep, kLedger };

struct PageDocument {
  DocumentKind kind = DocumentKind::kFit;
  std::string name;             ///< of its file
  nlohmann::json content;       ///< report of fit, JSON of sweep, or what `ledger show --format json` prints
  nlohmann::json promise = {};  ///< of a fit: what `privacy explain --format json` prints
};

/// Which kind of document a text is: a JSON object with the fields of a report or of a sweep, or lines with those of a
/// ledger.  @throws BadInput naming the path where it is none of them.
DocumentKind kind_of(std::string_view text, const std::string& path);

/// A text that is one JSON value.
/// @throws BadInput naming the path where it is not, or where values stand deeper in one another than in any document.
nlohmann::json parsed_document(std::string_view text, const std::string& path);

/// The members of one object of a document. A member that is null counts as absent.
/// All throw BadInput naming document and member where it is of another type than asked for.
class DocumentFields {
 public:
  /// `place` tells where in the document the object is: "test.". The object outlives this.
  DocumentFields(const nlohmann::json& object, std::string document, std::string place = "");

  bool has(const std::string& name) const;
  /// Null where there is none.
  const nlohmann::json& number(const std::string& name) const;
  /// Empty where there is none.
  std::string text(const std::string& name) const;
  bool flag(const std::string& name) const;
  /// Without members where there is none.
  DocumentFields object(const std::string& name) const;
  std::vector<DocumentFields> objects(const std::string& name) const;
  /// Each a number or null.
  std::vector<nlohmann::json> numbers(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  const nlohmann::json& json() const { return object_; }

  [[noreturn]] void refuse(const std::string& name, const std::string& reason) const;

 private:
  const nlohmann::json& member(const std::string& name) const;
  const nlohmann::json& list(const std::string& name) const;

  const nlohmann::json& object_;
  std::string document_;
  std::string place_;
};

}  // namespace dpreduce

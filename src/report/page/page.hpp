// One page that needs nothing else: no network, no other file.
//
//     JSON documents  ->  sections: words, tables, charts as data  ->  page: style and script inlined, nothing else
//     allowed
//
// Every value stands in a table, so that the page can be read without scripts, by screen readers and on paper. Its one
// script draws the charts. A Content-Security-Policy with the hashes of style and script forbids any other, and every
// request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/page/document.hpp"

namespace dpreduce {

/// Whom a page is for: its public readers get no section that is for the data's owner.
enum class Audience { kOwner, kPublic };

/// The page on these documents, in their order, as HTML in UTF-8. The same documents give the same bytes.
/// @pre there is a document; each is of its kind.
/// @throws BadInput naming document and member where one has another type than the program writes.
std::string page_of(std::span<const PageDocument> documents, Audience audience = Audience::kOwner);

/// What is inlined.
std::string_view page_script();
std::string_view page_style();

/// 'sha256-...' of an inlined text, as the policy names it.
std::string source_hash(std::string_view text);

}  // namespace dpreduce

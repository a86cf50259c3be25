// Sources: [known2001]; [unknown2003]; paper 004; PRIVACY section 2.
// Proofs: docs/privacy.md, "What there is"; docs/privacy.md, "What there is not"; docs/absent.md, "Any".

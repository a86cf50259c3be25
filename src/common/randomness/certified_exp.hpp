// exp(-t) between two integers, to as many bits as one asks for.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

namespace dpreduce {

/// Without expression templates, through which GCC 12 loses sight of what is initialized.
using BigInteger =
    boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;

/// A real number is at least `lower` and at most `upper`.
struct IntegerBounds {
  BigInteger lower;
  BigInteger upper;
};

/// lower <= 2^bits * exp(-t) <= upper, upper - lower <= 3, for t = numerator / 2^scale_bits.
///
/// Precondition: numerator >= 0 (our own invariant: std::logic_error). Cost: about bits / 4 products of `bits`-bit
/// integers. Integers alone: the same bounds on every machine.
IntegerBounds exp_of_minus(const BigInteger& numerator, unsigned scale_bits, unsigned bits);

}  // namespace dpreduce

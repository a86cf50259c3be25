// OpenBLAS, which solves what noise has made public: the same bits whatever it would choose by itself.
#pragma once

namespace dpreduce {

/// Makes BLAS and LAPACK work on one thread from here on: they divide work among threads, and sum in an order that
/// depends on the number of threads.
void use_one_blas_thread();

/// Throws unless LAPACK has succeeded: std::bad_alloc without memory, else std::runtime_error, since eigenvalues did
/// not converge.
void require_lapack(int info);

/// Keeps use_one_blas_thread in force while one lives. After the last of them, in whatever order threads drop theirs,
/// BLAS works on as many threads again as before the first. For programs that have uses of BLAS of their own.
class KeptBlasThreads {
 public:
  KeptBlasThreads();
  ~KeptBlasThreads();
  KeptBlasThreads(const KeptBlasThreads&) = delete;
  KeptBlasThreads& operator=(const KeptBlasThreads&) = delete;
};

/// Makes OpenBLAS take the memory that it works in, once a process, for one thread at a time. Otherwise it takes it
/// when it first needs it, and if the process may not have so much, it tries again for ever. Throws UsageError if there
/// is not enough: call it before anything is spent.
void take_blas_memory();

}  // namespace dpreduce

// Settings of OpenBLAS, which computes on released numbers: results have the same bits for any number of threads.
#pragma once

namespace dpreduce {

/// Makes BLAS and LAPACK use one thread from here on: with several, the order of their sums depends on the number of
/// threads.
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

/// Makes OpenBLAS allocate its working memory, once per process, for one thread at a time. Otherwise it allocates at
/// first use, and retries for ever if the process may not have that much. Throws UsageError if there is not enough;
/// call it before anything is spent.
void take_blas_memory();

}  // namespace dpreduce

# `cpack -G DEB` in the folder of a build: one Debian package with what `cmake --install` installs. launch/package does both.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dpreduce)
set(CPACK_PACKAGE_VENDOR dpreduce)
set(CPACK_PACKAGE_CONTACT "The dpreduce project <dpreduce@dpreduce.invalid>") # a package must name one; there is no mailbox
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "differentially private classifiers from one exact, noised sum")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Trains classifiers with a guarantee of differential privacy on features that
lie in many places. MPI workers clip their rows and add them up as integers;
one reduction sums them with exactly rounded Gaussian noise; a classifier is
solved from the noised sums. Reports and a ledger tell what was promised.
.
The package has the program, its manual pages, completion for bash and zsh,
the libraries with headers and a CMake package (find_package(dpreduce)), and
the Python package dpreduce with estimators for scikit-learn.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin) # mpirun
# What the Python package uses, and what find_package(dpreduce) looks for.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "python3-numpy, python3-sklearn, python3-mpi4py, python3-tqdm, python3-pandas, cmake, pkg-config, libopenmpi-dev, libssl-dev, libboost-dev, libeigen3-dev, libcli11-dev, \
libtomlplusplus-dev, nlohmann-json3-dev, libfmt-dev, libhdf5-dev, libonnx-dev, libprotobuf-dev, libopenblas-dev, liblapacke-dev, libfftw3-dev, zlib1g-dev")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CHECKSUM SHA256)
include(CPack)

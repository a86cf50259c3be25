# `cpack -G DEB` in the folder of a build: what `cmake --install` installs as two Debian packages, the program and, for programs
# of one's own, dpreduce-dev. launch/package does both.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dpreduce)
set(CPACK_PACKAGE_VENDOR dpreduce)
set(CPACK_PACKAGE_CONTACT "The dpreduce project <dpreduce@example.org>") # a package must name one; there is no mailbox yet
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "differentially private classifiers from one exact, noised sum")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"Trains classifiers with a guarantee of differential privacy on features that
lie in many places. MPI workers clip their rows and add them up as integers;
one reduction sums them with exactly rounded Gaussian noise; a classifier is
solved from the noised sums. Reports and a ledger tell what was promised.
.
The package has the program, its manual pages, completion for bash and zsh,
documents, examples, templates for Slurm, and the Python package dpreduce with
estimators for scikit-learn.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Libraries of dpreduce, which trains classifiers with a guarantee of
differential privacy, with headers and a CMake package
(find_package(dpreduce)).")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME dpreduce)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME dpreduce-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS openmpi-bin) # mpirun
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS
    "python3-numpy, python3-sklearn, python3-mpi4py, python3-tqdm, python3-pandas, python3-onnx") # what the Python package uses
# What find_package(dpreduce) looks for.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "pkg-config, libopenmpi-dev, libssl-dev, libboost-dev, libboost-serialization-dev, libcli11-dev, libtomlplusplus-dev, \
nlohmann-json3-dev, libfmt-dev, libhdf5-dev, libopenblas-dev, liblapacke-dev, libfftw3-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS cmake)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CHECKSUM SHA256)
include(CPack)
cpack_add_component_group(program)
cpack_add_component_group(development)
cpack_add_component(Unspecified GROUP program)
cpack_add_component(python GROUP program)
cpack_add_component(development GROUP development)

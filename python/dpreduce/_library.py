"""The extension, loaded once, and the ranks of this process's job."""
import atexit
import copyreg
import functools
import os
import threading

_MPI_LAUNCHERS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
one_at_a_time = threading.Lock()  # of the calls on the ranks of this process's job


@functools.cache
def core():
    """dpreduce._core."""
    from . import _core
    return _core


_joined = None


def _leave():
    global _joined
    _joined = None  # MPI ends here, where this process's job was joined by dpreduce


def _comm_called(name):
    from mpi4py import MPI
    return getattr(MPI, name)


def _reduced(comm):
    for name in ("COMM_WORLD", "COMM_SELF"):
        if comm == _comm_called(name):
            return _comm_called, (name,)
    raise TypeError("comm: MPI.COMM_WORLD and MPI.COMM_SELF alone can be copied and pickled; give one of these, or leave comm out")


def make_picklable(comm):
    """Lets a communicator of mpi4py before 4 be copied and pickled, as scikit-learn does with parameters."""
    if comm is None or not type(comm).__module__.startswith("mpi4py") or type(comm) in copyreg.dispatch_table:
        return
    try:
        comm.__reduce_ex__(4)
    except TypeError:
        copyreg.pickle(type(comm), _reduced)


def ranks_of(comm):
    """The ranks that `comm` stands for: None for those of the launcher, if there was one, else this process alone; or
    a communicator of mpi4py, MPI.COMM_WORLD or one of a single process.

    Throws UsageError where it is another; and where it comes to this process alone, and a launcher says that it has
    started several, unless DPREDUCE_SINGLE_PROCESS=1 says that they are meant to be single."""
    global _joined
    from .errors import UsageError
    if comm is not None:
        try:
            from mpi4py import MPI
            relation = MPI.Comm.Compare(comm, MPI.COMM_WORLD)
        except (ImportError, TypeError) as error:
            raise UsageError(f"comm: {comm!r} is not an mpi4py communicator; give MPI.COMM_WORLD, or leave it out") from error
        if relation not in (MPI.IDENT, MPI.CONGRUENT):
            if comm.Get_size() == 1:
                return core().Ranks.alone()
            raise UsageError("comm: has other ranks than MPI.COMM_WORLD; a fit runs on all ranks of a job, or on one alone")
        if comm.Get_size() == 1:
            if relation == MPI.IDENT:  # MPI.COMM_SELF says that one process is meant; a world of one may be a mistake
                core().require_single_process()
            return core().Ranks.alone()
    if not any(name in os.environ for name in _MPI_LAUNCHERS):
        if comm is not None:
            raise UsageError("comm: has several ranks, but no known launcher started them; use mpirun or srun")
        core().require_single_process()
        return core().Ranks.alone()
    if _joined is None:
        _joined = core().Ranks.join()
        atexit.register(_leave)
    return _joined

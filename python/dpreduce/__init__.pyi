from . import privacy as privacy
from .errors import AggregationAborted as AggregationAborted
from .errors import BadInput as BadInput
from .errors import BudgetRefused as BudgetRefused
from .errors import ClaimRefuted as ClaimRefuted
from .errors import DataDependentClassesWarning as DataDependentClassesWarning
from .errors import EntropyFailure as EntropyFailure
from .errors import Error as Error
from .errors import InternalError as InternalError
from .errors import LedgerCorrupt as LedgerCorrupt
from .errors import PrivacyWarning as PrivacyWarning
from .errors import RepeatedFitWarning as RepeatedFitWarning
from .errors import ResumeMismatch as ResumeMismatch
from .errors import UsageError as UsageError
from .estimators import DPClassifier as DPClassifier
from .estimators import DPMeanClassifier as DPMeanClassifier
from .fitting import FittedRun as FittedRun
from .fitting import fit as fit
from .ledger import read_ledger as read_ledger
from .model import Model as Model
from .model import load as load
from .plans import PartialSum as PartialSum
from .plans import PersonCounts as PersonCounts
from .plans import Plan as Plan
from .plans import Session as Session
from .promise import Privacy as Privacy

__version__: str

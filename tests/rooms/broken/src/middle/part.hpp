#include "low/absent.hpp"
#include "low/base.hpp"

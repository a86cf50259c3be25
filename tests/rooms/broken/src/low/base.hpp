#include "high/top.hpp"

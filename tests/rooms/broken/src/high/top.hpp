#include "middle/part.hpp"

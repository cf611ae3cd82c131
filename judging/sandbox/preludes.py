"""What InfiBench puts before every program of a language, so that answers need not repeat their imports."""

from __future__ import annotations

PYTHON_PRELUDE = """\
import math
import re
import sys
import copy
import datetime
import itertools
import collections
import heapq
import statistics
import functools
import hashlib
import numpy
import numpy as np
import pandas as pd
import string
import requests
import openpyxl
import xlsxwriter
import yolk
from typing import *
from collections import *
"""
CPP_PRELUDE = """\
using namespace std;
#include <algorithm>
#include <array>
#include <cassert>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <sstream>
#include <string>
#include <vector>
#include <boost/any.hpp>
"""
R_PRELUDE = """\
rm(list = ls())
library(assert)
"""

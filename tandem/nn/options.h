#pragma once

/// The options of all modules and functions.

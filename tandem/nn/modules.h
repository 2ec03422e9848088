#pragma once

/// All modules.

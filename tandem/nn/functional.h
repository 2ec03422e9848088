#pragma once

/// All functions of tandem::nn::functional.

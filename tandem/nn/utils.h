#pragma once

/// tandem::nn::utils: clipping of gradients, parameters as one vector, packed sequences.

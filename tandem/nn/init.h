#pragma once

/// tandem::nn::init: first values of parameters.

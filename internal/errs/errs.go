// SPDX-License-Identifier: Apache-2.0

// Package errs finds errors as errors.As does, without its reflection, which adds 16 kB to every program.
package errs

import (
	"errors"
	"fmt"
)

// As is [errors.As] for a target whose type is known.
func As[T error](err error, target *T) bool {
	found, ok := errors.AsType[T](err)
	if ok {
		*target = found
	}
	return ok
}

// Errorf is [fmt.Errorf], which the compiler would copy to each caller.
//
//go:noinline
func Errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package local

import (
	"fmt"
	"runtime"
)

func (*Sandbox) open(*Workspace) (box, error) {
	return nil, fmt.Errorf("%w: bubblewrap is for Linux, and this is %s", ErrSandbox, runtime.GOOS)
}

func (*Sandbox) openWeaker(*Workspace) (box, error) { return nil, ErrSandbox }

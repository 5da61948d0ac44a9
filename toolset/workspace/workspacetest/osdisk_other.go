// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package workspacetest

import "errors"

var notDirectory = errors.New("the system does not say")

func makePipe(string) error { return errors.ErrUnsupported }

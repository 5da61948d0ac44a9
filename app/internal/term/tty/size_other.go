// SPDX-License-Identifier: Apache-2.0

//go:build !unix && !windows

package tty

import "os"

func watchSize(*Console) (stop func()) { return func() {} }

func prepare(*os.File) (undo func()) { return func() {} }

func stopSelf() {}

func watchJobs(*Console) (stop func()) { return func() {} }

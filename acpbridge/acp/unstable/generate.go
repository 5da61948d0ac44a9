// SPDX-License-Identifier: Apache-2.0

package unstable

//go:generate go run github.com/ponte-go/ponte/internal/dev/acpgen -unstable

// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"

	"github.com/ponte-go/ponte/toolset/workspace"
)

var errTooManyLinks = fmt.Errorf("%w: too many symbolic links", workspace.ErrPath)

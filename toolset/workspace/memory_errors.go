// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
)

var errTooManyLinks = fmt.Errorf("%w: too many symbolic links", ErrPath)

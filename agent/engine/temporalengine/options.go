// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"

	"github.com/ponte-go/ponte/agent"
)

// refusedOptions are options of package agent that set what Input or this package sets.
var refusedOptions = []string{
	"WithHistory", "WithParts", "WithInput", "WithMetadata", "WithRunID", "WithResults", "WithInbox", "WithMeter", "WithEngine", "WithJournal", "Within",
}

// optionName finds the function that has made an option in the name of the closure, such as github.com/ponte-go/ponte/agent.WithRunID.func1. If the
// compiler has inlined it, the names of its callers come first.
var optionName = regexp.MustCompile(`(?:^|\.)(?:\(\*outerRun\)\.)?(\w+)(?:\[\.\.\.\])?\.func[\d.]+$`)

// checkOptions refuses options that would be overwritten, or would take effect again with each execution of a run. What an option sets cannot be seen from
// here, but it is a closure, and its name says which function has made it. A program whose names are obfuscated is not checked.
func checkOptions(options []agent.RunOption) (errs []error) {
	for i, o := range options {
		v := reflect.ValueOf(o)
		if v.Kind() != reflect.Func || v.IsNil() {
			continue
		}
		f := runtime.FuncForPC(v.Pointer())
		if f == nil {
			continue
		}
		m := optionName.FindStringSubmatch(f.Name())
		if m == nil {
			continue
		}
		name := m[1]
		if name == "option" { // of outerRun
			name = "Within"
		}
		if slices.Contains(refusedOptions, name) {
			errs = append(errs, fmt.Errorf("temporalengine: Config.Options[%d] is agent.%s: leave it out, because Input or the engine sets that for each run", i, name))
		}
	}
	return errs
}

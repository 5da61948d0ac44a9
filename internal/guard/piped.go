// SPDX-License-Identifier: Apache-2.0

package guard

import "os"

// StartPiped is [Start] with pipes to the standard streams of the command. The caller closes its
// ends.
func StartPiped(c Command) (p *Process, stdin, stdout, stderr *os.File, err error) {
	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	c.Stdin, stdin = pipe()
	stdout, c.Stdout = pipe()
	stderr, c.Stderr = pipe()
	if err == nil {
		p, err = Start(c)
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, nil, nil, nil, err
	}
	c.Stdin.Close()
	c.Stdout.Close()
	c.Stderr.Close()
	return p, stdin, stdout, stderr, nil
}

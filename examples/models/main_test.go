// SPDX-License-Identifier: Apache-2.0

package main

func Example() {
	main()
	// Output:
	// error: agent: model: example large: HTTP 503 Service Unavailable: busy
	// Oslo
	// Oslo
}

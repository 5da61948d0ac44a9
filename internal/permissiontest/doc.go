// SPDX-License-Identifier: Apache-2.0

// Package permissiontest attacks what decides about tool calls, from outside: through agents with
// real tools, hosts, proxies and servers. An attack has succeeded if something was done without the
// question that it needed.
package permissiontest

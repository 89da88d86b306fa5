/**
 * Some 400 commands as people and models write them every day, and what becomes of each without a sandbox: first under the default
 * rules, then under rules as users write them (`a` allowed, `?` asked for).
 */
import type { PermissionConfig } from "@skein/domain/Rule"

/** Rules of a user who works on such a project. */
export const typicalRules: PermissionConfig = {
  edit: "allow",
  bash: {
    ...Object.fromEntries(
      [
        "git add *",
        "git commit *",
        "git push *",
        "git pull *",
        "git fetch *",
        "git checkout *",
        "git switch *",
        "git branch *",
        "git stash *",
        "git merge *",
        "git rebase *",
        "git restore *",
        "git reset *",
        "git tag *",
        "git rm *",
        "git mv *",
        "git cherry-pick *",
        "npm run *",
        "npm test *",
        "npm ci *",
        "npm install *",
        "npm ls *",
        "npm outdated *",
        "npx tsc *",
        "npx vitest *",
        "npx eslint *",
        "npx prettier *",
        "pnpm *",
        "yarn *",
        "node --test *",
        "node scripts/*",
        "python -m pytest *",
        "python3 -m pytest *",
        "pytest *",
        "python scripts/*",
        "pip list *",
        "pip install *",
        "pip show *",
        "ruff *",
        "mypy *",
        "uv run pytest *",
        "cargo *",
        "rustc *",
        "go *",
        "gofmt *",
        "make *",
        "cmake --build *",
        "docker ps*",
        "docker logs *",
        "docker images*",
        "docker compose ps*",
        "docker compose logs *",
        "kubectl get *",
        "kubectl describe *",
        "kubectl logs *",
        "gh pr *",
        "gh issue *",
        "gh run *",
        "curl *",
        "mkdir *",
        "cp *",
        "mv *",
        "touch *",
        "rm *",
        "chmod *",
        "ps *",
        "gcc *",
        "tee *",
        "sleep *",
        "bash scripts/*"
      ].map((pattern) => [pattern, "allow" as const])
    )
  }
}

const table = `
git: a a
git status
git status -sb
git status --porcelain
git status --short --branch
git log --oneline -20
git log --oneline --graph --decorate --all
git log -p -3 -- src/a.ts
git log --since='2 weeks ago' --author=me --format='%h %s'
git log -S useState --oneline
git log main..HEAD
git log --stat -5
git diff
git diff --staged
git diff --stat HEAD~3
git diff main...HEAD -- src
git diff --name-only main
git diff HEAD~1 HEAD -- package.json
git show HEAD
git show --stat HEAD~2
git show HEAD:src/a.ts
git show HEAD:src/a.ts | head -50
git branch
git branch -a
git branch -vv
git branch --show-current
git branch --list 'feature/*'
git branch --contains HEAD
git remote -v
git remote get-url origin
git stash list
git stash show -p
git tag
git tag -l 'v1.*'
git tag --sort=-creatordate
git config --get user.name
git config user.email
git config --get core.editor
git worktree list
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git rev-parse --show-toplevel
git describe --tags --always
git blame -L 10,20 src/a.ts
git blame src/a.ts
git grep -n TODO
git grep -n 'useEffect' -- 'src/*.ts'
git ls-files
git ls-files '*.ts' | wc -l
git ls-files src | head -20
git shortlog -sn HEAD
git reflog -10
git cat-file -p HEAD
git merge-base main HEAD
git diff $(git merge-base main HEAD)
git rev-list --count HEAD
git check-ignore -v node_modules
git -C src status
git -C src log --oneline -3
cd src && git status
cd src && git log --oneline -3 && git diff --stat
git --no-pager log --oneline -5
git --no-pager diff | cat
git log --oneline | grep fix | head
git status && git diff --stat && git log -1
git diff --cached --name-only | xargs wc -l
git show-ref --heads
git for-each-ref --sort=-committerdate refs/heads --format='%(refname:short)'
git --version

git, changing: ? a
git add -A
git add src/a.ts src/b.ts
git add .
git commit -m 'Fix the parser'
git commit -am "Say what and why"
git commit --amend --no-edit
git commit -m "$(cat <<'EOF'
Fix the parser

It took a list for a word.
EOF
)"
git push
git push -u origin HEAD
git push origin main
git pull --rebase
git pull
git fetch --all --prune
git fetch origin main
git checkout -b feature/x
git checkout main
git checkout -- src/a.ts
git switch -c fix/y
git switch main
git branch -d old
git stash
git stash push -m wip
git stash pop
git merge --no-ff feature/x
git rebase main
git rebase --continue
git restore --staged src/a.ts
git reset --soft HEAD~1
git tag -a v1.0 -m v1.0
git rm --cached src/b.ts
git mv src/b.ts src/c.ts
git cherry-pick abc123
git add -A && git commit -m x && git push

searching: a a
ls
ls -la
ls -la src
ls -lah src | head
ls *.json
ls src/*.ts | wc -l
pwd
cat package.json
cat src/a.ts src/b.ts
cat package.json | jq .scripts
cat package.json | jq -r '.dependencies | keys[]'
head -50 src/a.ts
head -n 20 src/*.ts
tail -n 100 src/a.ts
tail -20 src/a.ts | grep error
wc -l src/*.ts
grep -rn TODO src
grep -rn "export const" src --include='*.ts'
grep -rn TODO .
grep -rnE 'foo|bar' src tests | head -20
grep -l useState src/*.ts
grep -c '' src/a.ts
grep -A3 -B3 main src/a.ts
grep -rl import src | xargs wc -l
rg TODO
rg -n 'export (const|function)' src
rg -l useState | head
rg --files | head -50
rg --files -g '*.ts' src
rg -i error src -g '!*.test.ts'
rg -t ts 'import .* from' src --count
rg -A 5 'class A' src
find . -name '*.ts'
find . -name '*.ts' -not -path './node_modules/*'
find src -type f | wc -l
find . -maxdepth 2 -type d
find . -name package.json -not -path '*/node_modules/*'
find . -type f -size +1M
find src -name '*.ts' -newer package.json
find . -name '*.ts' -exec wc -l {} +
find src -name '*.ts' -exec grep -l TODO {} \\;
find src -name '*.ts' | xargs grep -n TODO
find src -type f -name '*.ts' | xargs wc -l | sort -n | tail -5
find . -mtime -1 -type f
sort src/a.ts | uniq -c | sort -rn | head
sed -n '10,20p' src/a.ts
sed -n 1,50p src/a.ts
sed 's/foo/bar/g' src/a.ts
awk '{print $1}' src/a.ts
awk -F: '{print $1}' src/a.ts | sort | uniq
awk 'NR>=10 && NR<=20' src/a.ts
awk '$3 > 100 {print $1, $3}' src/a.ts
awk '{s+=$1} END {print s}' src/a.ts
cut -d, -f1,3 src/a.ts
tr a-z A-Z < src/a.ts
diff src/a.ts src/b.ts
diff -u src/a.ts src/b.ts
comm -12 src/a.ts src/b.ts
cmp src/a.ts src/b.ts
du -sh src
du -sh * | sort -h
df -h
stat src/a.ts
file src/a.ts
which node npm
which python3
type git
command -v node
env | sort
env | grep PATH
printenv HOME
echo $PATH
date
date +%Y-%m-%d
whoami
id
uname -a
hostname
nproc
free -h
uptime
history
less src/a.ts
more package.json
tree -L 2 -I node_modules
jq '.version' package.json
jq -r '.scripts | to_entries[] | "\\(.key): \\(.value)"' package.json
basename src/a.ts .ts
dirname src/a.ts
realpath src
readlink -f src
md5sum package.json
sha256sum package.json
xxd src/a.ts | head
od -c src/a.ts | head -5
nl -ba src/a.ts | sed -n '5,10p'
column -t -s, src/a.ts
strings src/a.ts | head
test -f package.json && echo yes
[ -d src ] && ls src
[[ -f package.json ]] && cat package.json
for f in src/*.ts; do echo "$f"; done
for f in src/*.ts; do wc -l "$f"; done
for f in $(git ls-files '*.ts'); do head -1 "$f"; done
for i in 1 2 3; do echo $i; done
cd src && ls
cd src && cat a.ts | head
cd src; grep -n foo a.ts
cd tests && ls -la && cat t.ts
(cd src && ls)
cat src/a.ts | grep -v '^#' | wc -l
cat $(git ls-files 'src/*.ts') | wc -l
echo "$(git rev-parse --short HEAD)"
echo "Lines: $(wc -l < src/a.ts)"
FOO=bar cat src/a.ts
LC_ALL=C sort src/a.ts
NO_COLOR=1 git status
timeout 10 grep -rn TODO src
time ls
cat src/a.ts 2>/dev/null || echo missing
ls nothing 2>&1 | head
true && echo ok
set -e; ls; pwd
grep -rn TODO src || true
wc -l $(find src -name '*.ts')
rg --version
node --version
npm --version
python3 --version
git --help
grep --help | head -5
docker --version
make --version
sleep 1

node: ? a
npm run build
npm run test -- --watch=false
npm run lint
npm test
npm test -- src/a.test.ts
npm ci
npm install
npm install lodash
npm install -D vitest
npm ls --depth=0
npm outdated
npm run build && npm test
npm run build 2>&1 | tail -20
npx tsc --noEmit
npx tsc -p tsconfig.json --noEmit | head -30
npx vitest run
npx vitest run src/a.test.ts -t 'parses'
npx eslint src --ext .ts
npx prettier --check src
pnpm install
pnpm test
pnpm run build
yarn build
node --test
node scripts/build.mjs
NODE_ENV=test npm test
CI=1 npm run build
cd src && npm test
time npm run build
timeout 60 npm test

python, rust, go, make, others: ? a
python -m pytest
python -m pytest tests/test_a.py -x -q
python3 -m pytest -k parser --tb=short
pytest -q
pytest tests -x | tail -5
python scripts/gen.py
pip list
pip show requests
pip install -r requirements.txt
ruff check .
mypy src
uv run pytest -q
cargo build
cargo build --release
cargo test
cargo test parser -- --nocapture
cargo check --all-targets
cargo clippy --all-targets -- -D warnings
cargo fmt --check
cargo tree -i serde
go build ./...
go test ./...
go test ./pkg/... -run TestParse -v
go vet ./...
go mod tidy
gofmt -l .
make
make test
make -j4 build
cmake --build build
docker ps
docker ps -a
docker logs --tail 50 web
docker images
docker compose ps
docker compose logs web
kubectl get pods
kubectl describe pod x
gh pr list
gh pr view 12
curl -s https://example.com/api
curl -sI https://example.com
mkdir -p src/new
cp src/a.ts src/c.ts
mv src/c.ts src/d.ts
touch src/e.ts
rm src/e.ts
chmod +x scripts/x.sh
ps -ef
echo hello > out.txt
gcc -Wall -o a a.c
bash scripts/x.sh
cat src/a.ts | tee copy.txt

asked for in any case: ? ?
python -c 'print(1)'
node -e 'console.log(1)'
bash -c 'ls; pwd'
docker run --rm -it alpine sh
ssh host uptime
sed -i 's/a/b/' src/a.ts
npx create-react-app x
tar xzf a.tgz
eval ls
wget https://example.com/x.tgz

more reading: a a
git log --oneline -10 --stat
git diff HEAD~2 --stat
git log -1 --pretty=format:'%h %an %s'
git log --format='%ad %s' --date=short -n 20
git diff --word-diff src/a.ts
git log --all --oneline --decorate -15
git show --name-only HEAD
git stash list
git rev-list --all --count
git ls-files -m
git status --ignored
git branch --merged
git log -L 1,1:src/a.ts
ls -R src
ls -lt | head -5
find . -name '*.md' -not -path '*/node_modules/*' | head
find src -name '*.test.ts' | wc -l
find . -type d -name node_modules -prune -o -name '*.ts' -print
find . -empty -type f
grep -rn --include='*.ts' --exclude-dir=node_modules 'foo' .
grep -n -i -w error src/a.ts
rg -n --no-heading 'foo' | sort | uniq -c
rg 'class \\w+' -o --no-filename | sort -u
rg --files-with-matches 'import' -g '*.ts' | wc -l
cat package.json | grep '"version"'
cat src/a.ts | wc -l
head -c 200 package.json
tail -n +5 src/a.ts
sed -n '/start/,/end/p' src/a.ts
awk '/foo/ {c++} END {print c}' src/a.ts
awk -F'\\t' 'NR>1 {sum+=$2} END {print sum/NR}' src/a.ts
cut -d: -f1 src/a.ts | sort -u | head -20
jq '.dependencies | length' package.json
jq -r 'keys[]' package.json | sort
wc -c < package.json
xargs -n1 echo < src/a.ts
ls src | xargs -I{} echo {}
for d in src tests; do echo "$d: $(ls $d | wc -l)"; done
for f in src/*.ts; do head -3 "$f" | grep -c import; done
while read -r line; do echo "$line"; done < src/a.ts
if [ -f package.json ]; then jq .name package.json; fi
n=$(wc -l < src/a.ts); echo "lines: $n"
printf '%s\\n' a b c
test -d src || echo missing
git diff --cached | head -50
sort -t, -k2 -n src/a.ts | head
diff <(ls src) <(ls tests)
comm -23 <(sort src/a.ts) <(sort src/b.ts)
echo "a b c" | tr ' ' '\\n'
du -sh node_modules/* | sort -rh | head
stat -c '%s %n' src/*.ts
date -d yesterday +%F
echo "{}" | jq .

more of tools: ? a
npm run build --silent
npm run typecheck && npm run lint
pnpm lint
yarn test
npx vitest run --reporter=dot src
npx tsc --noEmit 2>&1 | grep error | wc -l
python -m pytest -q tests/test_a.py::test_x
pytest -k 'a and b' --maxfail=1
cargo test --lib -- --test-threads=1
cargo clippy -- -W clippy::all
RUST_BACKTRACE=1 cargo test
go test -run 'TestA|TestB' ./... -count=1
go vet ./... && go build ./...
make lint test
make -n
docker ps --format '{{.Names}}'
docker compose logs --tail=20 web
DEBUG=* npm test
rm -rf dist
rm -f src/*.map
mkdir -p a/b && touch a/b/c.txt
mv src/a.ts src/renamed.ts && npm run build
cp -r src src2
gh pr view --json title,body
curl -s localhost:3000/health
curl -sS -H 'Accept: application/json' https://api.example.com/v1/x | jq .
git commit -m "feat: x" --no-verify
git push origin HEAD:refs/heads/x
ps aux | grep node
export NODE_ENV=test && npm test

more that is asked for: ? ?
node -p process.version
kill %1
`

/** A command, and whether it is allowed under each set of rules. */
export interface Everyday {
  readonly command: string
  readonly byDefault: boolean
  readonly typically: boolean
}

/** The table, row by row. */
export const everyday: ReadonlyArray<Everyday> = table.trim().split(/\n\n(?=[a-z, ]+: )/).flatMap((group) => {
  const [head = "", ...rows] = group.trim().split("\n")
  const [byDefault, typically] = (head.split(": ")[1] ?? "").split(" ")
  // Only a here-document goes on over several lines.
  const commands = rows.join("\n").split(/\n(?!Fix the|\n|It took|EOF|\))/)
  return commands.map((command) => ({ command, byDefault: byDefault === "a", typically: typically === "a" }))
})

/**
 * Harmless options of programs whose help is not detailed enough to generate a table. `programs.ts` explains the notation.
 */

// What shows commits and what changed in them. Not in it is what runs programs, writes, or leaves the repository: --output,
// --ext-diff, --textconv, --no-index, -O, --show-signature.
const show =
  `-p -u -s -q -z -a -b -w -R -B? -M? -C? -D -U: -G: -S: -l: -L: -n: -# -i -E -F -P -c -m -t -r -g --patch --no-patch
  --quiet --stat? --numstat --shortstat --dirstat? --summary --compact-summary --name-only --name-status --raw --unified: --full-index
  --abbrev? --no-abbrev --abbrev-commit --no-abbrev-commit --binary --text --check --color? --no-color --color-words?
  --word-diff? --word-diff-regex: --color-moved? --color-moved-ws: --no-color-moved --no-renames --find-renames? --find-copies?
  --find-copies-harder --irreversible-delete --diff-filter: --pickaxe-all --pickaxe-regex --relative? --no-relative
  --ignore-space-change --ignore-all-space --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol --ignore-matching-lines:
  -I: --inter-hunk-context: --function-context -W --exit-code --src-prefix: --dst-prefix: --no-prefix --line-prefix: --minimal
  --patience --histogram --diff-algorithm: --anchored: --indent-heuristic --no-indent-heuristic --ws-error-highlight:
  --submodule? --ignore-submodules? --cc --combined-all-paths --no-ext-diff --no-textconv --default-prefix`

const log = `${show} --oneline --graph --all --branches? --tags? --remotes? --glob: --exclude: --decorate? --no-decorate
  --decorate-refs: --decorate-refs-exclude: --clear-decorations --source --max-count: --skip: --since: --after: --until: --before:
  --author: --committer: --grep: --grep-reflog: --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp
  --fixed-strings --perl-regexp --merges --no-merges --min-parents: --max-parents: --no-min-parents --no-max-parents
  --first-parent --not --reflog --walk-reflogs --boundary --reverse --date-order --author-date-order --topo-order --no-walk?
  --do-walk --pretty? --format: --encoding: --expand-tabs? --no-expand-tabs --notes? --no-notes --date: --relative-date --parents
  --children --left-right --cherry --cherry-pick --cherry-mark --left-only --right-only --follow --full-history --dense --sparse
  --simplify-merges --simplify-by-decoration --ancestry-path? --show-pulls --full-diff --log-size --no-graph --use-mailmap
  --no-use-mailmap --mailmap --no-mailmap --diff-merges: --no-diff-merges --remerge-diff --merge --count --show-linear-break?`

const rust =
  `-p: --package: --workspace --all --exclude: --lib --bins --bin: --examples --example: --tests --test: --benches --bench:
  --all-targets -F: --features: --all-features --no-default-features -r --release --profile: -j: --jobs: --keep-going --timings
  -v -vv -q --verbose --quiet --color: --message-format: --locked --offline --frozen`

const go =
  `-a -n -p: -race -msan -asan -cover -covermode: -coverpkg: -v -x -work -buildmode: -buildvcs: -mod: -trimpath -tags: -json`

const packages =
  `-D -E -O -P -S -B -s -g? -h -v -w: -d -l -q -y --save --save-dev --save-exact --save-optional --save-peer
  --save-prod --no-save --silent --quiet --if-present --workspace: --workspaces --include-workspace-root --production --omit:
  --include: --no-audit --no-fund --audit --fund --legacy-peer-deps --strict-peer-deps --json --depth: --long --all --parseable
  --dry-run --prefer-offline --prefer-online --offline --no-progress --no-color --color --loglevel: --ignore-scripts --immutable --no-git-tag-version
  --package-lock-only --no-package-lock --frozen-lockfile --version --help --verbose --force -f -F: --filter: -r --recursive
  --parallel --stream --no-optional --latest --production`

const compiler =
  `[acts at words read] -c -S -E -o> -w -v -s -r -x: -g -g0 -g1 -g2 -g3 -ggdb -ggdb3 -gdwarf* -gsplit-dwarf -O* -D* -U* -I*/ -L*/ -l* -m32 -m64 -march=* -mtune=* -mcpu=*
  -Wall -Wextra -Werror -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wunused* -Wuninitialized -Wmissing* -Wformat*
  -Wno-* -Werror=* -Wcast* -Wstrict* -Wundef -Wvla -Wdeprecated* -Wimplicit* -Wreturn-type -Wswitch* -Wparentheses -Wpointer*
  -std=* -ansi -pedantic -pedantic-errors -pipe -pthread -shared -static -static-pie -pie -no-pie -nostdinc -nostdlib
  -nodefaultlibs -ffreestanding -fPIC -fpic -fPIE -fpie -fno-* -fsanitize=* -fstack-protector* -fvisibility=* -fopenmp
  -fsyntax-only -fdiagnostics-color* -fcolor-diagnostics -flto -ffast-math -fexceptions -fshort-enums -funroll-loops -fwrapv
  -fstrict-aliasing -fcommon -fcoverage-mapping -fprofile-arcs -ftest-coverage -funsigned-char -fsigned-char -fomit-frame-pointer
  -M -MM -MD -MMD -MP -MF> -MT: -MQ: -include< -H -P -C --coverage -rdynamic -dumpversion -dumpmachine --version --help`

const packer =
  `[acts pack] -c -d -f -k -l -n -q -t -v -# -T: --stdout --decompress --uncompress --force --keep --list --no-name
  --quiet --test --verbose --fast --best --threads:`

const each = (programs: string, table: string): Readonly<Record<string, string>> =>
  Object.fromEntries(programs.split(" ").map((program) => [program, table]))

/** Tables by program, and by program and subcommand. */
export const written: Readonly<Record<string, string>> = {
  ...each("c++ c89 c99 cc clang clang++ g++ gcc", compiler),
  cpp: compiler.replace("words read]", "words read write]"),

  // `-F` takes any next word. Programs from files, and extensions, are left out.
  ...each("awk gawk mawk nawk", "[text read] -F: -v:"),
  sed:
    `[text read] -n -E -r -s -u -z -e:! --quiet --silent --regexp-extended --separate --unbuffered --null-data --expression:!
    --line-length: -l: --posix --debug`,
  jq:
    `[text read] -c -n -e -s -r -R -a -j -C -M -S -h -V --compact-output --null-input --exit-status --slurp --raw-output --raw-input
    --ascii-output --join-output --color-output --monochrome-output --sort-keys --tab --indent: --unbuffered --stream --seq
    --raw-output0 --arg:: --argjson::`,
  rg:
    `[text below here skipsHidden] -e:! --regexp:! -f<! --file<! -i -S -s -v -w -x -F -P -U -n -N -l -c -o -q -a -H -I -0 -p -b -h -V
    -A: -B: -C: -m: -M: -d: -t: -T: -j: -E: -r: -u. -uu. -uuu. --hidden. --unrestricted. -g:. --glob:. --iglob:. --ignore-case
    --smart-case --case-sensitive --invert-match --word-regexp --line-regexp --fixed-strings --pcre2 --multiline
    --multiline-dotall --line-number --no-line-number --files-with-matches --files-without-match --files! --count --count-matches
    --only-matching --quiet --text --with-filename --no-filename --null --pretty --byte-offset --after-context: --before-context:
    --context: --max-count: --max-columns: --max-columns-preview --max-depth: --maxdepth: --max-filesize: --type: --type-not:
    --type-list! --threads: --encoding: --replace: --color: --colors: --column --no-column --heading --no-heading --json --stats
    --sort: --sortr: --vimgrep --trim --passthru --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-config
    --no-messages --null-data --crlf --one-file-system --include-zero --line-buffered --block-buffered --context-separator:
    --field-match-separator: --field-context-separator: --no-context-separator --engine: --auto-hybrid-regex --no-unicode --mmap
    --no-mmap --no-hidden --no-follow --binary --debug --trace --stop-on-nonmatch --path-separator: --hyperlink-format:`,
  fd: `[text look] -H -I --no-ignore -u. --unrestricted. -s -i -g -F -a -p -0 -1 -q -d: -t: -e: -E: -c: -j: -S:
    --case-sensitive --ignore-case --glob --fixed-strings --absolute-path --full-path --print0 --quiet --max-depth: --min-depth:
    --exact-depth: --type: --extension: --exclude: --color: --threads: --size: --changed-within: --changed-before: --max-results:
    --strip-cwd-prefix --list-details -l`,
  ag:
    `[text below here skipsHidden] -i -s -S -v -w -l -L -c -n -o -Q -H -A: -B: -C: -G: --nocolor --color --nogroup --group --literal
    --ignore-case --word-regexp --count --files-with-matches --ignore: --depth: --stats`,
  bat:
    `[read] -n -p -pp -A -l: -r: -H: --plain --number --language: --line-range: --highlight-line: --style: --color: --paging=never
    --show-all --tabs: --wrap: --theme: --decorations:`,
  strings:
    "[at read] -a -d -f -n: -t: -w -o -e: -s: --all --data --print-file-name --bytes: --radix: --include-all-whitespace -#",
  rev: "[read]",
  sdiff: "[read] -s -w: -i -b -B -t -a -W",
  sponge: "[acts write]",
  truncate: "[acts write] -c -o -r< -s: --no-create --io-blocks --reference< --size:",
  shred: "[acts write] -f -n: -s: -u -v -x -z --force --iterations: --size: --verbose --exact --zero",
  unlink: "[acts write]",
  less: "[read] -N -R -S -F -X -r -i -n -M -m -e -E -s",
  more: "[read] -s -p -c -u",
  tree:
    `[look] -a -d -f -i -q -N -Q -p -u -g -s -h -D -F -v -t -c -U -r -n -C -A -S -J -X -L: -I: -P: --noreport --dirsfirst
    --filesfirst --sort: --prune --gitignore --si --du --charset: --filelimit: --inodes --device --matchdirs --ignore-case`,
  which: "[text] -a -s --all",
  type: "[text] -a -t -p -P -f",
  hash: "[text] -t -l",
  history: "[text]",
  ps:
    "[acts text] -a -A -d -e -f -F -j -l -L -M -T -u: -U: -p: -o: -C: -t: -H -w -x -y --forest --sort: --no-headers --headers --ppid:",
  pgrep: "[acts text] -a -c -d: -f -i -l -n -o -u: -x -P: -v",
  lsof: "[acts look] -i? -n -P -p: -t -u:",
  xxd: "[read write] -a -b -c: -C -d -e -E -g: -i -l: -n: -o: -p -ps -s: -u",
  seq: "[text] -f: -s: -w --format: --separator: --equal-width",
  sleep: "[text]",
  expr: "[text]",
  getconf: "[text]",
  locale: "[text] -a -m -k -c",
  tput: "[text]",
  tty: "[none]",
  users: "[none]",
  who: "[none] -a -b -H -q -u",
  w: "[none] -h -s -f",
  vmstat: "[text] -s -S: -w -a",
  lscpu: "[none] -a -b -c -e -p -x",
  lsblk: "[none] -a -b -f -l -m -n -o: -p -t -J",
  file:
    `[look] -b -i -k -L -h -N -0 -r --brief --mime --mime-type --mime-encoding --extension --dereference --no-dereference
    --keep-going --print0 --raw`,
  md5: "[read] -q -r",
  ln: "[acts read last:write] -f -n -v -T --force --verbose --no-target-directory",

  // Without -c, -l or -t they replace each file with another.
  ...each("bzip2 gunzip gzip unxz unzstd xz zstd", packer),
  chmod: "[acts text write] -R -v -c -f --recursive --verbose --changes --silent --quiet",
  curl:
    `[acts at url] -s -S -f -L -i -I -v -k -g -G -N -4 -6 -X: -H: -A: -m: -r: -e: --silent --show-error --fail --fail-with-body
    --location --include --head --verbose --insecure --globoff --get --compressed --request: --header: --user-agent: --max-time:
    --connect-timeout: --retry: --retry-delay: --retry-max-time: --retry-connrefused --retry-all-errors --max-redirs: --range:
    --referer: --no-progress-meter --no-buffer --http1.0 --http1.1 --http2 --http3 --tlsv1.2 --tlsv1.3 --ipv4 --ipv6 -w:
    --write-out: --limit-rate: --max-filesize: --tcp-nodelay --no-keepalive`,
  wget:
    `[acts url] -q -v -nv -S -t: -T: -4 -6 --quiet --verbose --no-verbose --server-response --spider --tries: --timeout:
    --dns-timeout: --connect-timeout: --read-timeout: --waitretry: --wait: --random-wait --limit-rate: --no-check-certificate
    --no-cache --no-cookies --no-proxy --https-only --inet4-only --inet6-only --max-redirect: --user-agent: --show-progress
    --progress: -nc --no-clobber --no-netrc --no-config -U:`,
  rustc: "[acts at read] --version -V -v --edition: --crate-type: --crate-name: --explain: --print: -O -g --test",
  rustfmt: "[acts read] --check --edition: -v -q --color:",
  "cargo bench": `[acts text] ${rust} --no-run --no-fail-fast`,
  "cargo fmt": "[acts text] --check --all -v -q -p: --package:",
  "cargo clippy": `[acts text] ${rust} --no-deps`,
  "cargo metadata": "[acts] --no-deps --format-version: --offline --locked --frozen -q",
  "cargo update": "[acts] -p: --package: --dry-run --offline -q -v --aggressive --precise:",
  "cargo add":
    "[acts text] --dev --build -F: --features: --no-default-features --optional --dry-run -p: --package: -q -v",
  "cargo search": "[acts text] --limit:",
  "cargo audit": "[acts] --json -q",
  "cargo clean": "[acts] --release -p: --package: --dry-run -q -v",
  "cargo version": "[acts] -v",
  "cargo help": "[acts text]",
  "go build": `[acts words look] ${go} -o> -i`,
  "go test":
    `[acts words look] ${go} -run: -bench: -benchtime: -benchmem -count: -cpu: -failfast -fullpath -short -shuffle: -skip: -timeout:
    -parallel: -list: -fuzz: -fuzztime: -fuzzminimizetime: -coverprofile> -c -i -vet:`,
  "go vet": `[acts words look] ${go} -c: -composites -copylocks -printf`,
  "go list": `[acts words look] ${go} -f: -m -deps -test -u -e -find -versions -retracted -compiled -export`,
  "go fmt": "[acts words look] -n -x",
  "go mod": "[acts words text] -v -x -e -json -go: -compat: -diff",
  "go get": `[acts words text] ${go} -u -t -d`,
  "go doc": "[acts words text] -all -c -cmd -short -src -u",
  "go env": "[acts words text] -json -changed",
  "go version": "[acts words look] -m -v",
  "go clean": "[acts words look] -i -n -r -x -cache -testcache -modcache -fuzzcache",
  "go help": "[acts words text]",
  gofmt: "[acts words read] -l -d -s -e",
  ...each("npm pnpm yarn", `[acts text] ${packages}`),
  pip:
    `[acts text] -q -v -U -y -l -o -e/ -r< -c< --quiet --verbose --upgrade --yes --user --pre --no-deps --no-cache-dir --dry-run
    --format: --outdated --not-required --local --all --files --disable-pip-version-check --no-input --require-virtualenv`,

  // The git commands that only read. Programs in git's config are checked elsewhere.
  "git log": `[git] ${log}`,
  "git show": `[git] ${log}`,
  "git whatchanged": `[git] ${log}`,
  "git reflog": `[git] ${log}`,
  "git diff": `[git] ${show} --cached --staged --merge-base --base --ours --theirs -0 -1 -2 -3`,
  "git diff-tree": `[git] ${show} --root --pretty? --no-commit-id --always --merge-base`,
  "git diff-index": `[git] ${show} --cached --merge-base`,
  "git diff-files": `[git] ${show}`,
  "git range-diff": `[git] ${show} --creation-factor: --no-dual-color --left-only --right-only`,
  "git rev-list":
    `[git] ${log} --objects --objects-edge --disk-usage? --max-age: --min-age: --timestamp --header --in-commit-order
    --unpacked --bisect-all`,
  "git rev-parse":
    `[git] --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree
    --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-superproject-working-tree --show-object-format?
    --abbrev-ref? --short? --symbolic --symbolic-full-name --verify -q --quiet --all --branches? --tags? --remotes? --sq --not
    --revs-only --no-revs --flags --no-flags --default: --local-env-vars --git-path: --path-format: --shared-index-path`,
  "git grep":
    `[text git] -e:! -i -I -v -w -E -G -P -F -n -h -H -l -L -c -o -z -p -W -q -r -a -A: -B: -C: -m: -# --cached
    --ignore-case --invert-match --word-regexp --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number
    --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color? --no-color --break
    --heading --show-function --after-context: --before-context: --context: --function-context --max-depth: --max-count: --and
    --or --not --all-match --quiet --text --full-name --recursive --no-recursive --threads:`,
  "git cherry": "[git] -v --abbrev?",
  "git count-objects": "[none] -v -H --verbose --human-readable",
  "git check-attr": "[look] -a -z --all --cached --source:",
  "git show-branch":
    "[git] -r -a --remotes --all --current --topo-order --date-order --list --no-name --sha1-name --color? --topics",
  "git version": "[none] --build-options",
  "git fsck":
    "[none] --full --strict --no-dangling --unreachable --connectivity-only --verbose --progress --no-progress",
  "git gc": "[acts none] -q --quiet --auto --aggressive --prune? --no-prune",
  "git init": "[acts write] -q -b: --quiet --bare --initial-branch:",
  "git submodule": "[acts text] -q --quiet --cached --recursive",
  "git bisect": "[acts git] --no-checkout --first-parent",
  "git notes": "[acts git] -m: -f --force",
  "git apply": "[acts read] -p: -R -v --check --stat --numstat --summary --reverse --verbose",
  "git remote": "[acts text remote] -v --verbose -n --push --all",
  "git stash":
    `[acts text] -u -a -k -q -p -v -m: -s --include-untracked --all --keep-index --no-keep-index --quiet --message: --index
    --patch --stat? --name-only --name-status --staged --only-untracked --oneline --no-color`,
  "git worktree":
    "[acts text write] -v -f -n -b: -B: -d -q --porcelain --force --detach --dry-run --lock --reason: --expire: -z",
  "git config":
    `[acts text] -z -l --get --get-all --get-regexp --list --name-only --show-origin --show-scope --local --global --system
    --worktree --includes --no-includes --type: --bool --int --path --null --default: --get-color:`
}

/** Options of programs that are known to be harmless: `node scripts/programTables.mjs --write` makes them. */
export const generated: Readonly<Record<string, string>> = {
  arch: "[none] ",
  b2sum:
    "[read] --binary --ignore-missing --length: --quiet --status --strict --tag --text --warn --zero -b -l: -t -w -z",
  base32: "[read] --decode --ignore-garbage --wrap: -d -i -w:",
  base64: "[read] --decode --ignore-garbage --wrap: -d -i -w:",
  basename: "[text] --multiple --suffix: --zero -a -s: -z",
  cat:
    "[read] --number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs --squeeze-blank -A -E -T -b -e -n -s -t -u -v",
  cksum:
    "[read] --algorithm: --debug --ignore-missing --length: --quiet --status --strict --tag --untagged --warn --zero -a: -l: -w -z",
  cmp:
    "[read read text] --bytes: --help --ignore-initial: --print-bytes --quiet --silent --verbose --version -b -i: -l -n: -s -v",
  column:
    "[read] --fillrows --json --keep-empty-lines --output-separator: --output-width: --separator: --table --table-columns-limit: --table-columns: --table-header-repeat --table-hide: --table-name: --table-noextreme: --table-noheadings --table-order: --table-right: --table-truncate: --table-wrap: --tree-id: --tree-parent: --tree: -E: -H: -J -L -N: -O: -R: -T: -V -W: -c: -d -e -h -i: -l: -n: -o: -p: -r: -s: -t -x",
  comm: "[read] --check-order --nocheck-order --output-delimiter: --total --zero-terminated -1 -2 -3 -z",
  cp:
    "[acts read last:write] --archive^ --attributes-only --backup? --context? --copy-contents --force --interactive --no-clobber --no-dereference --no-preserve: --no-target-directory --one-file-system --parents --preserve? --recursive^ --reflink? --remove-destination --sparse: --strip-trailing-slashes --target-directory> --update --verbose -P -R^ -T -Z -a^ -b -d -f -i -n -p -r^ -t> -u -v -x",
  cut:
    "[read] --bytes: --characters: --complement --delimiter: --fields: --only-delimited --output-delimiter: --zero-terminated -M -b: -c: -d: -f: -n -s -z",
  date:
    "[text] --date: --debug --iso-8601? --reference< --resolution --rfc-3339: --rfc-email --universal --utc -I? -R -d: -r< -u",
  df:
    "[look] --all --block-size: --exclude-type: --human-readable --inodes --local --no-sync --output? --portability --print-type --si --sync --total --type: -B: -H -P -T -a -h -i -k -l -t: -v -x:",
  diff:
    "[read] -# --GTYPE-group-format: --LTYPE-line-format: --brief --color? --context? --ed --exclude: --expand-tabs --horizon-lines: --ifdef: --ignore-all-space --ignore-blank-lines --ignore-case --ignore-file-name-case --ignore-matching-lines: --ignore-space-change --ignore-tab-expansion --ignore-trailing-space --initial-tab --label: --left-column --line-format: --minimal --no-dereference --no-ignore-file-name-case --normal --palette: --rcs --report-identical-files --show-c-function --show-function-line: --side-by-side --speed-large-files --starting-file: --strip-trailing-cr --suppress-blank-empty --suppress-common-lines --tabsize: --text --unified? --width: -B -C: -D: -E -F: -I: -S: -T -U: -W: -Z -a -b -c -d -e -i -n -p -q -s -t -u -v -w -x: -y",
  dirname: "[text] --zero -z",
  du:
    "[look] --all --apparent-size --block-size: --bytes --count-links --exclude: --human-readable --inodes --max-depth: --no-dereference --null --one-file-system --separate-dirs --si --summarize --threshold: --time --time-style: --total -0 -B: -P -S -a -b -c -d: -h -k -l -m -s -t: -x",
  egrep:
    "[text read] -# --after-context: --basic-regexp --before-context: --binary --binary-files: --byte-offset --color? --colour? --context: --count --exclude-dir: --exclude-from< --exclude: --extended-regexp --file<! --files-with-matches --files-without-match --fixed-strings --group-separator: --ignore-case --include: --initial-tab --invert-match --label: --line-buffered --line-number --line-regexp --max-count: --no-filename --no-group-separator --no-ignore-case --no-messages --null --null-data --only-matching --perl-regexp --quiet --recursive^ --regexp:! --silent --text --with-filename --word-regexp -A: -B: -C: -E -F -G -H -I -L -P -T -U -V -Z -a -b -c -e:! -f<! -h -i -l -m: -n -o -q -r^ -s -v -w -x -y -z",
  expand: "[read] -# --initial --tabs: -i -t:",
  fgrep:
    "[text read] -# --after-context: --basic-regexp --before-context: --binary --binary-files: --byte-offset --color? --colour? --context: --count --exclude-dir: --exclude-from< --exclude: --extended-regexp --file<! --files-with-matches --files-without-match --fixed-strings --group-separator: --ignore-case --include: --initial-tab --invert-match --label: --line-buffered --line-number --line-regexp --max-count: --no-filename --no-group-separator --no-ignore-case --no-messages --null --null-data --only-matching --perl-regexp --quiet --recursive^ --regexp:! --silent --text --with-filename --word-regexp -A: -B: -C: -E -F -G -H -I -L -P -T -U -V -Z -a -b -c -e:! -f<! -h -i -l -m: -n -o -q -r^ -s -v -w -x -y -z",
  file:
    "[look] --apple --brief --checking-printout --debug --dereference --exclude-quiet: --exclude: --extension --keep-going --list --mime --mime-encoding --mime-type --no-buffer --no-dereference --no-pad --parameter --print0 --raw --separator: --special-files -0 -F: -L -N -P -b -c -d -e: -h -i -k -l -n -r -s -v",
  fmt:
    "[read] -# --crown-margin --goal: --prefix: --split-only --tagged-paragraph --uniform-spacing --width: -c -g: -p: -s -t -u -w:",
  fold: "[read] -# --bytes --spaces --width: -b -s -w:",
  free:
    "[none] --bytes --committed --count: --gibi --giga --human --kibi --kilo --lohi --mebi --mega --pebi --peta --seconds: --si --tebi --tera --total --wide -V -b -c: -g -h -k -l -m -s: -t -v -w",
  grep:
    "[text read] -# --after-context: --basic-regexp --before-context: --binary --binary-files: --byte-offset --color? --colour? --context: --count --exclude-dir: --exclude-from< --exclude: --extended-regexp --file<! --files-with-matches --files-without-match --fixed-strings --group-separator: --ignore-case --include: --initial-tab --invert-match --label: --line-buffered --line-number --line-regexp --max-count: --no-filename --no-group-separator --no-ignore-case --no-messages --null --null-data --only-matching --perl-regexp --quiet --recursive^ --regexp:! --silent --text --with-filename --word-regexp -A: -B: -C: -E -F -G -H -I -L -P -T -U -V -Z -a -b -c -e:! -f<! -h -i -l -m: -n -o -q -r^ -s -v -w -x -y -z",
  groups: "[text] ",
  head: "[read] -# --bytes: --lines: --quiet --silent --verbose --zero-terminated -c: -n: -q -v -z",
  hexdump:
    "[read] --canonical --color? --format: --length: --no-squeezing --one-byte-char --one-byte-octal --skip: --two-bytes-decimal --two-bytes-hex --two-bytes-octal -C -L -V -b -c -d -e: -h -n: -o -s: -v -x",
  hostname:
    "[] --alias --all-fqdns --all-ip-addresses: --domain --fqdn --ip-address --long --nis --short --yp -A -I: -a -d -f -i -s -y",
  id: "[text] --context --group --groups --name --real --user --zero -G -Z -a -g -n -r -u -z",
  join:
    "[read] --check-order --header --ignore-case --nocheck-order --zero-terminated -1: -2: -a: -e: -i -j: -o: -t: -v: -z",
  ls:
    "[look] --all --almost-all --author --block-size: --classify? --color? --context --directory --dired --escape --file-type --format: --full-time --group-directories-first --hide-control-chars --hide: --human-readable --hyperlink? --ignore-backups --ignore: --indicator-style: --inode --kibibytes --literal --no-group --numeric-uid-gid --quote-name --quoting-style: --recursive --reverse --show-control-chars --si --size --sort: --tabsize: --time-style: --time: --width: --zero -1 -A -B -C -D -F -G -I: -N -Q -R -S -T: -U -X -Z -a -b -c -d -f -g -h -i -k -l -m -n -o -p -q -r -s -t -u -v -w: -x",
  md5sum: "[read] --binary --ignore-missing --quiet --status --strict --tag --text --warn --zero -b -t -w -z",
  mkdir: "[acts write] --context? --mode: --parents --verbose -Z -m: -p -v",
  mv:
    "[acts read last:write] --backup? --context --force --interactive --no-clobber --no-target-directory --strip-trailing-slashes --target-directory> --update --verbose -T -Z -b -f -i -n -t> -u -v",
  nl:
    "[read] --body-numbering: --footer-numbering: --header-numbering: --join-blank-lines: --line-increment: --no-renumber --number-format: --number-separator: --number-width: --section-delimiter: --starting-line-number: -b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w:",
  nproc: "[none] --all --ignore:",
  numfmt:
    "[text] --debug --delimiter: --field: --format: --from-unit: --from: --grouping --header? --invalid: --padding: --round: --suffix: --to-unit: --to: --zero-terminated -M -d: -z",
  od:
    "[read] --address-radix: --endian: --format: --output-duplicates --read-bytes: --skip-bytes: --strings? --traditional --width? -A: -N: -S: -a -b -c -d -f -i -j: -l -o -s -t: -v -w? -x",
  paste: "[read] --delimiters: --serial --zero-terminated -d: -s -z",
  pr:
    "[read] --across --columns: --date-format: --double-space --expand-tabs? --first-line-number: --form-feed --header: --indent: --join-lines --length: --merge --no-file-warnings --number-lines? --omit-header --omit-pagination --output-tabs? --page-width: --sep-string? --separator? --show-control-chars --show-nonprinting --width: -D: -F -J -N: -S? -T -W: -a -c -d -e? -f -h: -i? -l: -m -n? -o: -r -s? -t -v -w:",
  printenv: "[text] --null -0",
  pwd: "[none] --logical --physical -L -P",
  readlink:
    "[look] --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero -e -f -m -n -q -s -v -z",
  realpath:
    "[look] --canonicalize-existing --canonicalize-missing --logical --no-symlinks --physical --quiet --relative-base: --relative-to: --strip --zero -L -P -e -m -q -s -z",
  rm:
    "[acts write] --dir --force --interactive? --no-preserve-root --one-file-system --preserve-root? --recursive --verbose -I -R -d -f -i -r -v",
  rmdir: "[acts write] --ignore-fail-on-non-empty --parents --verbose -p -v",
  sha1sum: "[read] --binary --ignore-missing --quiet --status --strict --tag --text --warn --zero -b -t -w -z",
  sha224sum: "[read] --binary --ignore-missing --quiet --status --strict --tag --text --warn --zero -b -t -w -z",
  sha256sum: "[read] --binary --ignore-missing --quiet --status --strict --tag --text --warn --zero -b -t -w -z",
  sha384sum: "[read] --binary --ignore-missing --quiet --status --strict --tag --text --warn --zero -b -t -w -z",
  sha512sum: "[read] --binary --ignore-missing --quiet --status --strict --tag --text --warn --zero -b -t -w -z",
  shuf: "[read] --echo --head-count: --input-range: --random-source< --repeat --zero-terminated -e -i: -n: -r -z",
  sort:
    "[read] --batch-size: --buffer-size: --check --debug --dictionary-order --field-separator: --general-numeric-sort --human-numeric-sort --ignore-case --ignore-leading-blanks --ignore-nonprinting --key: --merge --month-sort --numeric-sort --parallel: --random-sort --random-source< --reverse --sort: --stable --unique --version-sort --zero-terminated -C -M -R -S: -V -b -c -d -f -g -h -i -k: -m -n -r -s -t: -u -z",
  stat: "[look] --cached: --file-system --format: --printf: --terse -c: -f -t",
  sum: "[read] --sysv -r -s",
  tac: "[read] --before --regex --separator: -b -r -s:",
  tail:
    "[read] -# --bytes: --follow? --lines: --max-unchanged-stats: --pid: --quiet --retry --silent --sleep-interval: --verbose --zero-terminated -F -c: -f -n: -q -s: -v -z",
  tee: "[acts write] --append --ignore-interrupts --output-error? -a -i -p",
  touch: "[acts write] --date: --no-create --no-dereference --reference< --time: -a -c -d: -f -h -m -r< -t:",
  tr: "[text] --complement --delete --squeeze-repeats --truncate-set1 -C -c -d -s -t",
  tsort: "[read] ",
  uname:
    "[none] --all --hardware-platform --kernel-name --kernel-release --kernel-version --machine --nodename --operating-system --processor -a -i -m -n -o -p -r -s -v",
  unexpand: "[read] --all --first-only --tabs: -a -t:",
  uniq:
    "[read write] -# --all-repeated? --check-chars: --count --group? --ignore-case --repeated --skip-chars: --skip-fields: --unique --zero-terminated -D -c -d -f: -i -s: -u -w: -z",
  uptime: "[none] --pretty --since -V -h -p -s",
  wc: "[read] --bytes --chars --lines --max-line-length --words -L -c -l -m -w",
  whoami: "[none] ",
  make:
    "[acts target] --always-make --debug? --dry-run --ignore-errors --jobs? --just-print --keep-going --load-average? --max-load? --no-builtin-rules --no-builtin-variables --no-keep-going --no-print-directory --no-silent --output-sync? --print-data-base --question --quiet --recon --silent --stop --touch --trace --warn-undefined-variables -B -O? -R -S -b -d -h -i -j* -k -l* -m -n -p -q -r -s -t -v -w",
  "cargo build":
    "[acts] --all --all-features --all-targets --bench: --benches --bin: --bins --color: --example: --examples --exclude: --features: --frozen --future-incompat-report --ignore-rust-version --jobs: --keep-going --lib --locked --message-format: --no-default-features --offline --package: --profile: --quiet --release --target: --test: --tests --timings --unit-graph --verbose --workspace -F: -h -j: -p: -q -r -v",
  "cargo check":
    "[acts] --all --all-features --all-targets --bench: --benches --bin: --bins --color: --example: --examples --exclude: --features: --frozen --future-incompat-report --ignore-rust-version --jobs: --keep-going --lib --locked --message-format: --no-default-features --offline --package: --profile: --quiet --release --target: --test: --tests --timings --unit-graph --verbose --workspace -F: -h -j: -p: -q -r -v",
  "cargo clippy":
    "[acts] --allow: --deny: --forbid: --frozen --locked --no-deps --offline --warn: -A: -D: -F: -V -W: -h",
  "cargo doc":
    "[acts] --all --all-features --bin: --bins --color: --document-private-items --example: --examples --exclude: --features: --frozen --ignore-rust-version --jobs: --keep-going --lib --locked --message-format: --no-default-features --no-deps --offline --package: --profile: --quiet --release --target: --timings --unit-graph --verbose --workspace -F: -h -j: -p: -q -r -v",
  "cargo test":
    "[acts text] --all --all-features --all-targets --bench: --benches --bin: --bins --color: --doc --example: --examples --exclude: --features: --frozen --future-incompat-report --ignore-rust-version --jobs: --lib --locked --message-format: --no-default-features --no-fail-fast --no-run --offline --package: --profile: --quiet --release --target: --test: --tests --timings --unit-graph --verbose --workspace -F: -h -j: -p: -q -r -v",
  "cargo tree":
    "[acts] --all-features --charset: --color: --depth: --duplicates --edges: --exclude: --features: --format: --frozen --invert: --locked --no-dedupe --no-default-features --offline --package: --prefix: --prune: --quiet --target: --verbose --workspace -F: -d -e: -f: -h -i: -p: -q -v",
  "git add":
    "[acts look] --all --dry-run --force --ignore-errors --ignore-missing --ignore-removal --intent-to-add --pathspec-file-nul --refresh --renormalize --sparse --update --verbose -A -N -f -n -u -v",
  "git blame":
    "[git] --abbrev? --color-by-age --color-lines --ignore-rev: --incremental --line-porcelain --minimal --porcelain --progress --root --score-debug --show-email --show-name --show-number --show-stats -C? -L: -M? -b -c -e -f -l -n -p -s -t -w",
  "git branch":
    "[acts git] --abbrev? --all --color? --column? --contains? --copy --create-reflog --delete --force --format: --ignore-case --list --merged? --move --no-contains? --no-merged? --points-at: --quiet --remotes --set-upstream-to: --show-current --sort: --track? --unset-upstream --verbose -C -D -M -a -c -d -f -i -l -m -q -r -t -u: -v",
  "git cat-file":
    "[git] --allow-unknown-type --batch-all-objects --buffer --follow-symlinks --mailmap --unordered --use-mailmap -e -p -s -t -z",
  "git check-ignore": "[look] --non-matching --quiet --verbose -n -q -v -z",
  "git cherry-pick":
    "[acts git] --abort --allow-empty --allow-empty-message --cleanup: --continue --ff --keep-redundant-commits --mainline: --no-commit --quit --rerere-autoupdate --signoff --skip -m: -n -x",
  "git checkout":
    "[acts git] --conflict: --detach --force --guess --ignore-other-worktrees --ignore-skip-worktree-bits --merge --orphan: --ours --overlay --overwrite-ignore --pathspec-file-nul --progress --quiet --theirs --track? -2 -3 -B: -b: -d -f -l -m -q -t",
  "git clean": "[acts look] --dry-run --exclude: --force --quiet -X -d -e: -f -n -q -x",
  "git commit":
    "[acts look] --ahead-behind --all --allow-empty --allow-empty-message --amend --author: --branch --cleanup: --date: --dry-run --file< --fixup: --include --long --message: --no-edit --no-gpg-sign --no-post-rewrite --no-verify --null --only --pathspec-file-nul --porcelain --quiet --reset-author --reuse-message: --short --signoff --squash: --status --trailer: --untracked-files? --verbose -C: -F< -a -i -m: -n -o -q -s -u -uall -uno -v -z",
  "git describe":
    "[git] --abbrev? --all --always --broken? --candidates: --contains --debug --dirty? --exact-match --exclude: --first-parent --long --match: --tags",
  "git fetch":
    "[acts remote] --all --append --atomic --auto-gc --auto-maintenance --deepen: --depth: --dry-run --filter: --force --ipv4 --ipv6 --jobs: --keep --multiple --negotiate-only --negotiation-tip: --prefetch --progress --prune --prune-tags --quiet --refetch --refmap: --set-upstream --shallow-exclude: --shallow-since: --show-forced-updates --tags --unshallow --update-head-ok --update-shallow --verbose --write-commit-graph --write-fetch-head -4 -6 -P -a -f -j: -k -m -n -p -q -t -u -v",
  "git for-each-ref":
    "[text] --color? --contains: --count: --format: --ignore-case --merged: --no-contains: --no-merged: --points-at: --sort:",
  "git ls-files":
    "[look] --abbrev? --cached --debug --deduplicate --deleted --directory --empty-directory --eol --error-unmatch --exclude-standard --exclude: --full-name --ignored --killed --modified --others --resolve-undo --sparse --stage --unmerged --with-tree: -c -d -f -i -k -m -o -s -t -u -v -x: -z",
  "git ls-remote": "[acts remote] --exit-code --get-url --heads --quiet --refs --sort: --symref --tags -h -q -t",
  "git ls-tree":
    "[git] --abbrev? --format: --full-name --full-tree --long --name-only --name-status --object-only -d -l -r -t -z",
  "git merge":
    "[acts git] --abort --allow-unrelated-histories --autostash --cleanup: --commit --continue --ff --ff-only --into-name: --log? --message: --no-commit --no-edit --no-ff --no-squash --no-stat --no-verify --overwrite-ignore --progress --quiet --quit --rerere-autoupdate --signoff --squash --stat --summary --verbose -m: -n -q -v",
  "git merge-base": "[git] --all --fork-point --independent --is-ancestor --octopus -a",
  "git mv": "[acts look] --dry-run --force --sparse --verbose -f -k -n -v",
  "git name-rev": "[git] --all --always --annotate-stdin --exclude: --name-only --refs: --stdin --tags --undefined",
  "git pull":
    "[acts remote] --all --allow-unrelated-histories --append --autostash --cleanup: --commit --deepen: --depth: --dry-run --ff --ff-only --force --ipv4 --ipv6 --jobs? --keep --log? --negotiation-tip: --no-edit --progress --prune --quiet --rebase --refmap: --set-upstream --shallow-exclude: --shallow-since: --show-forced-updates --signoff? --squash --stat --tags --unshallow --update-shallow --verbose --verify -4 -6 -a -f -j -k -n -p -q -r -t -v",
  "git push":
    "[acts remote] --all --atomic --delete --dry-run --follow-tags --force --force-if-includes --force-with-lease? --ipv4 --ipv6 --mirror --no-verify --porcelain --progress --prune --quiet --set-upstream --tags --thin --verbose -4 -6 -d -f -n -q -u -v",
  "git rebase":
    "[acts git] --abort --apply --autosquash --autostash --committer-date-is-author-date --continue --empty: --force-rebase --fork-point --ignore-whitespace --keep-base --merge --no-ff --no-stat --no-verify --onto: --quiet --quit --reapply-cherry-picks --rerere-autoupdate --reschedule-failed-exec --reset-author-date --root --show-current-patch --signoff --skip --update-refs --verbose --whitespace: -C: -f -m -n -q -v",
  "git reset":
    "[acts git] --hard --intent-to-add --keep --merge --mixed --no-refresh --pathspec-file-nul --quiet --soft -N -q",
  "git restore":
    "[acts look] --conflict: --ignore-skip-worktree-bits --ignore-unmerged --merge --ours --overlay --pathspec-file-nul --progress --quiet --source: --staged --theirs --worktree -2 -3 -S -W -m -q -s:",
  "git revert":
    "[acts git] --abort --cleanup: --continue --mainline: --no-commit --no-edit --quit --reference --rerere-autoupdate --signoff --skip -m: -n -s",
  "git rm": "[acts look] --cached --dry-run --force --ignore-unmatch --pathspec-file-nul --quiet --sparse -f -n -q -r",
  "git shortlog":
    "[git] --after: --all --author: --before: --branches --committer --email --group: --merges --no-merges --numbered --since: --summary --until: -c -e -n -s -w?",
  "git show-ref": "[text] --abbrev? --dereference --hash? --head --heads --quiet --tags --verify -d -q -s",
  "git status":
    "[look] --ahead-behind --branch --column? --find-renames? --ignore-submodules? --ignored? --long --no-renames --null --porcelain? --short --show-stash --untracked-files? --verbose -M -b -s -u -uall -uno -unormal -v -z",
  "git switch":
    "[acts git] --conflict: --create: --detach --discard-changes --force --force-create: --guess --ignore-other-worktrees --merge --orphan: --overwrite-ignore --progress --quiet --track? -C: -c: -d -f -m -q -t",
  "git tag":
    "[acts git] --annotate --cleanup: --color? --column? --contains: --create-reflog --delete --force --format: --ignore-case --list --merged: --message: --no-contains: --no-merged: --points-at: --sort: -a -d -f -i -l -m: -n?"
}

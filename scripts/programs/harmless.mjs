// @ts-check
// For each program whose help can be read: how it takes its operands, the options that are left out of its table because they
// write, run, or read more than what is named, and the options whose value is more than a text.

/** @typedef {{ head: string, help?: string[], omit?: string, kinds?: string, add?: string }} Program */

const checksum = { head: "read", omit: "-c --check" }

const patterns = {
  head: "text read",
  omit: "-d --directories -D --devices -R --dereference-recursive",
  kinds: "-e:! --regexp:! -f<! --file<! --exclude-from< -r^ --recursive^",
  add: "-# --recursive^ -y"
}

// What cargo reads may name programs, and other directories.
const cargo = "--config -Z --manifest-path --target-dir --artifact-dir --fix --open --explain --lockfile-path"

/** @type {Record<string, Program>} */
export const programs = {
  arch: { head: "none" },
  b2sum: checksum,
  base32: { head: "read" },
  base64: { head: "read" },
  basename: { head: "text" },
  cat: { head: "read" },
  cksum: checksum,
  cmp: { head: "read read text", add: "--help --version" },
  column: { head: "read" },
  comm: { head: "read" },
  cp: {
    head: "acts read last:write",
    omit: "-l --link -s --symbolic-link -L --dereference -H -S --suffix",
    kinds: "-t> --target-directory>",
    add: "-r^ -R^ --recursive^ -a^ --archive^"
  },
  cut: { head: "read" },
  date: { head: "text", omit: "-s --set -f --file", kinds: "-r< --reference<" },
  df: { head: "look" },
  diff: {
    head: "read",
    omit:
      "-l --paginate -r --recursive -N --new-file --unidirectional-new-file -X --exclude-from --from-file --to-file",
    add: "-# --label:"
  },
  dirname: { head: "text" },
  du: { head: "look", omit: "-D --dereference-args -H -L --dereference --files0-from -X --exclude-from" },
  egrep: patterns,
  expand: { head: "read", add: "-#" },
  fgrep: patterns,
  file: {
    head: "look",
    omit:
      "-C --compile -f --files-from -m --magic-file -z --uncompress -Z --uncompress-noreport -S --no-sandbox -p --preserve-date"
  },
  fmt: { head: "read", add: "-#" },
  fold: { head: "read", add: "-#" },
  free: { head: "none" },
  grep: patterns,
  groups: { head: "text" },
  head: { head: "read", add: "-#" },
  hexdump: { head: "read", omit: "-f --format-file" },
  hostname: { head: "", omit: "-F --file -b --boot" },
  id: { head: "text" },
  join: { head: "read" },
  ls: {
    head: "look",
    omit: "-L --dereference -H --dereference-command-line --dereference-command-line-symlink-to-dir"
  },
  md5sum: checksum,
  mkdir: { head: "acts write" },
  mv: { head: "acts read last:write", omit: "-S --suffix", kinds: "-t> --target-directory>" },
  nl: { head: "read" },
  nproc: { head: "none" },
  numfmt: { head: "text" },
  od: { head: "read" },
  paste: { head: "read" },
  pr: { head: "read" },
  printenv: { head: "text" },
  pwd: { head: "none", add: "-L -P" },
  readlink: { head: "look" },
  realpath: { head: "look" },
  rm: { head: "acts write" },
  rmdir: { head: "acts write" },
  sha1sum: checksum,
  sha224sum: checksum,
  sha256sum: checksum,
  sha384sum: checksum,
  sha512sum: checksum,
  shuf: { head: "read", omit: "-o --output", kinds: "--random-source<" },
  sort: {
    head: "read",
    omit: "-o --output -T --temporary-directory --compress-program --files0-from",
    kinds: "--random-source<"
  },
  stat: { head: "look", omit: "-L --dereference", add: "-c: --format:" },
  sum: { head: "read" },
  tac: { head: "read" },
  tail: { head: "read", add: "-#" },
  tee: { head: "acts write" },
  touch: { head: "acts write", kinds: "-r< --reference<" },
  tr: { head: "text" },
  tsort: { head: "read" },
  uname: { head: "none" },
  unexpand: { head: "read" },
  // The second operand is written.
  uniq: { head: "read write", add: "-#" },
  uptime: { head: "none" },
  wc: { head: "read", omit: "--files0-from" },
  whoami: { head: "none" },

  make: {
    head: "acts target",
    omit:
      `-f --file --makefile -C --directory -I --include-dir -E --eval -e --environment-overrides -o --old-file --assume-old
      -W --what-if --new-file --assume-new -w --print-directory -L --check-symlink-times --jobserver-style --shuffle --jobserver-fds`,
    add: "-j* --jobs? -l* --load-average? --max-load? -w"
  },
  "cargo build": { head: "acts", omit: cargo },
  "cargo check": { head: "acts", omit: cargo },
  "cargo clippy": { head: "acts", omit: cargo },
  "cargo doc": { head: "acts", omit: cargo },
  "cargo test": { head: "acts text", omit: cargo },
  "cargo tree": { head: "acts", omit: cargo },

  "git add": { head: "acts look", omit: "-i --interactive -p --patch -e --edit --pathspec-from-file --chmod" },
  "git blame": { head: "git", omit: "--contents -S --ignore-revs-file" },
  "git branch": {
    head: "acts git",
    omit: "--edit-description --recurse-submodules",
    kinds: "--contains? --no-contains? --merged? --no-merged?"
  },
  "git cat-file": { head: "git", omit: "--textconv --filters --path --batch --batch-check --batch-command" },
  "git check-ignore": { head: "look", omit: "--stdin --no-index" },
  "git cherry-pick": { head: "acts git", omit: "-e --edit -S --gpg-sign -s --strategy --strategy-option -X" },
  "git checkout": { head: "acts git", omit: "-p --patch --recurse-submodules --pathspec-from-file" },
  "git clean": { head: "acts look", omit: "-i --interactive" },
  "git commit": {
    head: "acts look",
    omit: "-e --edit -S --gpg-sign -p --patch --interactive --pathspec-from-file -C -c --reedit-message -t --template",
    kinds: "-F< --file<",
    add: "-C: --no-edit --allow-empty --allow-empty-message --no-gpg-sign -uno -uall"
  },
  "git describe": { head: "git" },
  "git fetch": {
    head: "acts remote",
    omit: "--stdin --upload-pack --recurse-submodules --recurse-submodules-default -o --server-option"
  },
  "git for-each-ref": { head: "text", omit: "-s --shell -p --perl --python --tcl" },
  "git ls-files": { head: "look", omit: "--exclude-from -X --exclude-per-directory --recurse-submodules --format" },
  "git ls-remote": { head: "acts remote", omit: "--upload-pack --exec -o --server-option" },
  "git ls-tree": { head: "git" },
  "git merge": {
    head: "acts git",
    omit: "-e --edit -S --gpg-sign -s --strategy -X --strategy-option -F --file --verify-signatures",
    add: "--no-ff --no-commit --no-edit --no-squash --no-stat"
  },
  "git merge-base": { head: "git" },
  "git mv": { head: "acts look" },
  "git name-rev": { head: "git" },
  "git pull": {
    head: "acts remote",
    omit:
      `-e --edit -S --gpg-sign -s --strategy -X --strategy-option --upload-pack --recurse-submodules --verify-signatures -r
      --rebase -o --server-option`,
    add: "-r --rebase --no-edit"
  },
  "git push": {
    head: "acts remote",
    omit: "--receive-pack --exec --recurse-submodules --repo --signed -o --push-option"
  },
  "git rebase": {
    head: "acts git",
    omit: "-i --interactive -x --exec -S --gpg-sign -s --strategy -X --strategy-option --edit-todo -r --rebase-merges"
  },
  "git reset": { head: "acts git", omit: "-p --patch --recurse-submodules --pathspec-from-file" },
  "git restore": { head: "acts look", omit: "-p --patch --recurse-submodules --pathspec-from-file" },
  "git revert": { head: "acts git", omit: "-e --edit -S --gpg-sign --strategy -X --strategy-option", add: "--no-edit" },
  "git rm": { head: "acts look", omit: "--pathspec-from-file" },
  "git shortlog": {
    head: "git",
    omit: "--output",
    add: "--all --branches --no-merges --merges --author: --since: --after: --until: --before:"
  },
  "git show-ref": { head: "text", omit: "--exclude-existing" },
  "git status": { head: "look", add: "-uno -uall -unormal" },
  "git switch": { head: "acts git", omit: "--recurse-submodules" },
  "git tag": {
    head: "acts git",
    omit: "-s --sign -u --local-user -v --verify -e --edit -F --file"
  }
}

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";
import { branchOf } from "./branch.ts";

function git(directory: string, ...words: readonly string[]): string {
  const env = { PATH: process.env["PATH"], HOME: directory, GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
  return execFileSync("git", ["-C", directory, ...who, ...words], { env, encoding: "utf8" });
}

test("the branch is read where git is: in a repository, below it, in a worktree, detached", async () => {
  await using directory = await temporaryDirectory();
  const main = join(directory.path, "main");
  const below = join(main, "src/deep");
  mkdirSync(below, { recursive: true });
  assert.equal(branchOf(below), undefined);
  git(main, "init", "--quiet", "--initial-branch", "feature/totals");
  assert.equal(branchOf(main), "feature/totals");
  assert.equal(branchOf(below), "feature/totals");
  git(main, "commit", "--quiet", "--allow-empty", "-m", "first");
  const tree = join(directory.path, "tree");
  git(main, "worktree", "add", "--quiet", "-b", "other", tree);
  assert.equal(branchOf(tree), "other");
  git(main, "checkout", "--quiet", "--detach");
  const commit = git(main, "rev-parse", "HEAD");
  assert.equal(branchOf(main), commit.slice(0, 8));
});

test("what is no repository has no branch, whatever lies there", async () => {
  await using directory = await temporaryDirectory();
  const { path } = directory;
  assert.equal(branchOf(join(path, "gone")), undefined);
  assert.equal(branchOf("relative"), undefined);
  writeFileSync(join(path, ".git"), "something else");
  assert.equal(branchOf(path), undefined);
  writeFileSync(join(path, ".git"), `gitdir: ${"x".repeat(10_000)}`);
  assert.equal(branchOf(path), undefined);
  const repository = join(path, "a");
  mkdirSync(join(repository, ".git"), { recursive: true });
  execFileSync("mkfifo", [join(repository, ".git/HEAD")]);
  assert.equal(branchOf(repository), undefined);
  const other = join(path, "b");
  mkdirSync(join(other, ".git"), { recursive: true });
  for (const head of ["ref: refs/heads/.invalid\n", "ref: refs/tags/x\n", "12ab\n", ""]) {
    writeFileSync(join(other, ".git/HEAD"), head);
    assert.equal(branchOf(other), undefined);
  }
});

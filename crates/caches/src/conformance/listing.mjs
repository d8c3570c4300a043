// Prints what a copy of the public HTTP cache suite is and which tests it has, as JSON. bakeoff's own; run by
// node as `listing.mjs ROOT`. It imports the suite's tests and changes nothing.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = process.argv[2]
const needs = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies ?? {}
if (!('node-fetch' in needs) && typeof fetch !== 'function') {
  throw new Error(`node ${process.version} has no fetch, which this suite asks with; take node 18 or later`)
}
const from = async file => (await import(pathToFileURL(join(root, file)))).default

const sets = [...await from('tests/index.mjs')]
// The client of the release adds this one to them by itself.
const added = 'tests/surrogate-control.mjs'
if (existsSync(join(root, added))) {
  const set = await from(added)
  if (!sets.includes(set)) sets.push(set)
}

// The code, since versions do not tell: package.json has said 0.4.5 since January 2021.
const digest = createHash('sha256')
const take = path => {
  const full = join(root, path)
  if (!existsSync(full)) return
  if (statSync(full).isDirectory()) {
    for (const name of readdirSync(full).sort()) take(`${path}/${name}`)
  } else if (path.endsWith('.mjs')) {
    digest.update(`${path}\0`).update(readFileSync(full))
  }
}
for (const part of ['cli.mjs', 'client', 'lib', 'server', 'test-engine', 'tests']) take(part)

const tests = sets.flatMap(set => set.tests.map(test => ({
  id: test.id,
  set: set.name,
  name: test.name,
  kind: test.kind ?? 'required',
  depends_on: test.depends_on ?? [],
  browser_only: test.browser_only === true
})))
process.stdout.write(JSON.stringify({ node: process.version, digest: digest.digest('hex'), tests }))

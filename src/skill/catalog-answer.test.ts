import { expect, test } from 'vitest';
import { parseCatalogAnswer } from './catalog-answer.ts';

const catalogUrl = 'https://catalog.example/api/search';
const parse = (answer: unknown) => parseCatalogAnswer(JSON.stringify(answer), { catalogUrl });
const pdf = {
  name: 'PDF',
  slug: 'acme/tools/pdf',
  source: 'https://catalog.example/acme/tools/pdf',
  installs: 7,
};

test.each([
  ['our own field names', { ...pdf }],
  ['unknown fields beside', { ...pdf, stars: 1, nested: { deep: [] } }],
  ['id in place of slug', { name: 'PDF', id: pdf.slug, source: pdf.source, installs: 7 }],
  ['url in place of source', { name: 'PDF', slug: pdf.slug, url: pdf.source, installs: 7 }],
  [
    'owner/repository as source',
    { name: 'PDF', id: pdf.slug, skillId: 'pdf', source: 'acme/tools', installs: 7 },
  ],
  [
    'owner/repository apart from the id',
    { name: 'PDF', slug: pdf.slug, topSource: 'acme/tools', installs: 7 },
  ],
  ['no source at all', { name: 'PDF', slug: pdf.slug, topSource: null, installs: 7 }],
  ['a count as text', { ...pdf, installs: '7' }],
])('an entry with %s becomes a skill', (_, entry) => {
  expect(parse({ skills: [entry] })).toEqual([pdf]);
  expect(parse([entry])).toEqual([pdf]);
});

test('a slug without its owner gets the page of both', () => {
  expect(parse([{ id: 'pdf', name: 'PDF', installs: 1, topSource: 'acme/tools' }])).toEqual([
    { name: 'PDF', slug: 'pdf', source: 'https://catalog.example/acme/tools/pdf', installs: 1 },
  ]);
});

test.each([[null], [undefined], [-1], [1.5], ['many'], [{}], [Number.MAX_VALUE]])(
  'installs of %j count as 0',
  (installs) => {
    expect(parse([{ ...pdf, installs }])).toEqual([{ ...pdf, installs: 0 }]);
  },
);

test.each([
  ['null', null],
  ['a number', 4],
  ['a list', []],
  ['no slug', { name: 'x', source: pdf.source }],
  ['an empty slug', { ...pdf, slug: '' }],
  ['a slug with spaces', { ...pdf, slug: 'a b' }],
  ['a slug that climbs', { ...pdf, slug: 'a/../b' }],
  ['a slug that is a number', { ...pdf, slug: 5 }],
  ['an endless name', { ...pdf, name: 'x'.repeat(201) }],
  ['a NUL in the name', { ...pdf, name: 'a\0b' }],
  ['a lone surrogate in the name', { ...pdf, name: '\ud800' }],
  ['an owner that is another host', { name: 'x', slug: 'x', source: '/evil.example' }],
])('an entry that is or has %s is left out and the others stay', (_, entry) => {
  expect(parse({ skills: [entry, pdf] })).toEqual([pdf]);
});

test.each([
  ['javascript:', 'javascript:alert(1)'],
  ['a password', 'https://user:secret@catalog.example/x'],
  ['file:', 'file:///etc/passwd'],
])('a source with %s is never passed on', (_, source) => {
  expect(parse([{ ...pdf, source }])).toEqual([]);
});

test.each([
  ['nothing', ''],
  ['no JSON', '<html>'],
  ['a cut answer', '{"skills":['],
  ['a text', '"skills"'],
  ['null', 'null'],
  ['an object without skills', '{"items":[]}'],
  ['skills that are no list', '{"skills":{"0":{}}}'],
])('an answer that is %s is no list', (_, text) => {
  expect(parseCatalogAnswer(text, { catalogUrl })).toBeNull();
});

test('an empty list is a list', () => {
  expect(parse({ skills: [] })).toEqual([]);
});

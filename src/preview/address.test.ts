import { describe, expect, test } from 'vitest';
import { createPreviewAddresses } from './address.ts';

const id = '01890000-0000-7000-8000-00000000000a';
const plain = createPreviewAddresses({ baseUrl: 'http://a.example:7070', domain: undefined });
const named = createPreviewAddresses({ baseUrl: 'https://a.example', domain: 'preview.example:8443' });
const ofPath = { replicaId: id, port: 3000, form: 'path', prefix: `/p/${id}/3000`, token: null };
const ofHost = { replicaId: id, port: 3000, form: 'host', prefix: '', token: null };

describe('the address of a preview', () => {
  test('is a path of the service, or a host name where there is a domain', () => {
    expect(plain.urlOf({ replicaId: id, port: 3000 })).toBe(`http://a.example:7070/p/${id}/3000/`);
    expect(named.urlOf({ replicaId: id, port: 3000 })).toBe(`https://3000--${id}.preview.example:8443/`);
  });

  test.each([
    [`/p/${id}/3000/`, { ...ofPath, path: '/' }],
    [`/p/${id}/3000`, { ...ofPath, path: '' }],
    [`/p/${id}/3000?a=1`, { ...ofPath, path: '?a=1' }],
    [`/p/${id}/3000//x/../y?a=1&b=%20&c?d`, { ...ofPath, path: '//x/../y?a=1&b=%20&c?d' }],
    [`/p/${id}/3000/x?`, { ...ofPath, path: '/x?' }],
    [`/p/${id}/3000/?replica_token=t&a=1`, { ...ofPath, path: '/?a=1', token: 't' }],
    [`/p/${id}/3000/?replica_token=t`, { ...ofPath, path: '/', token: 't' }],
    [`/p/${id}/3000/?xreplica_token=t`, { ...ofPath, path: '/?xreplica_token=t' }],
    [`/p/${id.toUpperCase()}/3000/`, { ...ofPath, prefix: `/p/${id.toUpperCase()}/3000`, path: '/' }],
    [`/p/${id}/0/`, null],
    [`/p/${id}/03000/`, null],
    [`/p/${id}/65536/`, null],
    [`/p/${id}/3000x/`, null],
    [`/p/${id}x/3000/`, null],
    [`/x/p/${id}/3000/`, null],
    [`http://a.example/p/${id}/3000/`, null],
    ['*', null],
    ['/v1/replica', null],
  ])('is known by the path %s', (url, expected) => {
    expect(plain.parse({ host: 'a.example', url })).toEqual(expected);
  });

  test.each([
    [`3000--${id}.preview.example`, { ...ofHost, path: '/v1/replica' }],
    [`3000--${id}.Preview.Example:1234`, { ...ofHost, path: '/v1/replica' }],
    [`3000--${id}.other.example`, null],
    [`3000--${id}.xpreview.example`, null],
    [`x.3000--${id}.preview.example`, null],
    [`99999--${id}.preview.example`, null],
    ['preview.example', null],
    [undefined, null],
  ])('is known by the host %s', (host, expected) => {
    expect(named.parse({ host, url: '/v1/replica' })).toEqual(expected);
  });

  test('has the path of a proxy in front before it', () => {
    const behind = createPreviewAddresses({ baseUrl: 'https://a.example/replicas', domain: undefined });
    expect(behind.urlOf({ replicaId: id, port: 3000 })).toBe(`https://a.example/replicas/p/${id}/3000/`);
    expect(behind.parse({ host: 'a.example', url: `/p/${id}/3000/x` })).toEqual({
      ...ofPath,
      prefix: `/replicas/p/${id}/3000`,
      path: '/x',
    });
  });

  test('is no host name where there is no domain', () => {
    expect(plain.parse({ host: `3000--${id}.preview.example`, url: '/' })).toBeNull();
    expect(plain.parse({ host: `3000--${id}.localhost:7070`, url: '/' })).toBeNull();
  });

  test.each([
    ['http://127.0.0.1:7070', undefined, `http://3000--${id}.localhost:7070/`],
    ['http://localhost', undefined, `http://3000--${id}.localhost/`],
    ['http://[::1]:7070', undefined, `http://3000--${id}.localhost:7070/`],
    ['http://127.0.0.1:7070', 'preview.example', `http://3000--${id}.preview.example/`],
    ['https://127.0.0.1:7070', undefined, `https://127.0.0.1:7070/p/${id}/3000/`],
    ['http://localhost/replicas', undefined, `http://localhost/replicas/p/${id}/3000/`],
    ['http://127.0.0.1.example', undefined, `http://127.0.0.1.example/p/${id}/3000/`],
    ['http://a.example:7070', undefined, `http://a.example:7070/p/${id}/3000/`],
  ])('of the service at %s with the domain %s is %s for a browser', (baseUrl, domain, expected) => {
    expect(createPreviewAddresses({ baseUrl, domain }).browserUrlOf({ replicaId: id, port: 3000 })).toBe(
      expected,
    );
  });

  test('is a path for everybody else, and known by both, where the service is local', () => {
    const local = createPreviewAddresses({ baseUrl: 'http://127.0.0.1:7070', domain: undefined });
    expect(local.urlOf({ replicaId: id, port: 3000 })).toBe(`http://127.0.0.1:7070/p/${id}/3000/`);
    expect(local.parse({ host: `3000--${id}.localhost:7070`, url: '/x' })).toEqual({ ...ofHost, path: '/x' });
    expect(local.parse({ host: '127.0.0.1:7070', url: `/p/${id}/3000/x` })).toEqual({
      ...ofPath,
      path: '/x',
    });
  });
});

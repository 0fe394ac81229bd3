import { describe, expect, test } from 'vitest';
import { AppError } from '../contract/error.ts';
import { parseGitRequest } from './git-request.ts';

const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const typed = (service: string) => ({ 'content-type': `application/x-git-${service}-request` });

describe('parseGitRequest', () => {
  test.each([
    ['GET', `/git/${id}/info/refs?service=git-upload-pack`, {}, 'upload-pack', true],
    ['GET', `/git/${id}.git/info/refs?service=git-receive-pack`, {}, 'receive-pack', true],
    ['POST', `/git/${id}/git-upload-pack`, typed('upload-pack'), 'upload-pack', false],
    ['POST', `/git/${id}.git/git-receive-pack`, typed('receive-pack'), 'receive-pack', false],
  ] as const)('%s %s', (method, url, headers, service, isFirst) => {
    expect(parseGitRequest({ method, url, headers })).toEqual({ repositoryId: id, service, isFirst });
  });

  test.each([
    ['GET', `/git/${id}/info/refs`, {}, 'forbidden'],
    ['GET', `/git/${id}/info/refs?service=git-upload-archive`, {}, 'forbidden'],
    ['GET', `/git/${id}/info/refs?service=upload-pack`, {}, 'forbidden'],
    ['POST', `/git/${id}/info/refs?service=git-upload-pack`, {}, 'invalid_request'],
    ['GET', `/git/${id}/git-upload-pack`, {}, 'invalid_request'],
    ['POST', `/git/${id}/git-upload-pack`, {}, 'unsupported_media_type'],
    ['POST', `/git/${id}/git-upload-pack`, typed('receive-pack'), 'unsupported_media_type'],
    ['GET', `/git/${id}/HEAD`, {}, 'not_found'],
    ['GET', `/git/${id}/objects/info/packs`, {}, 'not_found'],
    ['GET', `/git/${id}/../${id}/info/refs?service=git-upload-pack`, {}, 'not_found'],
    ['GET', `/git/..%2f..%2fetc/info/refs?service=git-upload-pack`, {}, 'not_found'],
    ['GET', `/git/${id.toUpperCase()}/info/refs?service=git-upload-pack`, {}, 'not_found'],
    ['GET', `/git//info/refs?service=git-upload-pack`, {}, 'not_found'],
    ['GET', '/git/', {}, 'not_found'],
  ] as const)('%s %s is refused', (method, url, headers, code) => {
    expect(() => parseGitRequest({ method, url, headers })).toThrow(
      expect.objectContaining({ name: AppError.name, code }),
    );
  });
});

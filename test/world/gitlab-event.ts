/** Events as GitLab documents them, field by field; names, numbers and texts are made up. */
export type GitlabProject = { url: string };

const sha = 'c0ffee11c0ffee11c0ffee11c0ffee11c0ffee11';
const before = 'deadbeef22deadbeef22deadbeef22deadbeef22';

const ada = { id: 7, name: 'Ada', username: 'ada', avatar_url: null, email: '[REDACTED]' };

function projectOf({ url }: GitlabProject) {
  const web = url.replace(/\.git$/, '');
  return {
    id: 41,
    name: 'Shop',
    description: '',
    web_url: web,
    avatar_url: null,
    git_ssh_url: 'git@git.example.com:acme/shop.git',
    git_http_url: `${web}.git`,
    namespace: 'Acme',
    visibility_level: 0,
    path_with_namespace: 'acme/shop',
    default_branch: 'main',
    ci_config_path: null,
    homepage: web,
    url: `${web}.git`,
    ssh_url: 'git@git.example.com:acme/shop.git',
    http_url: `${web}.git`,
  };
}

function mergeRequest(fields: Record<string, unknown>) {
  return {
    id: 1_200,
    iid: 5,
    target_branch: 'main',
    source_branch: 'basket',
    source_project_id: 41,
    target_project_id: 41,
    author_id: 7,
    title: 'Count the basket',
    description: '',
    state: 'opened',
    merge_status: 'unchecked',
    draft: false,
    last_commit: { id: sha, message: 'Count the basket', timestamp: '2025-03-04T08:00:00+00:00' },
    ...fields,
  };
}

export function mergeRequestEvent(
  on: GitlabProject,
  fields: Record<string, unknown> = { action: 'open' },
): Record<string, unknown> {
  const project = projectOf(on);
  return {
    object_kind: 'merge_request',
    event_type: 'merge_request',
    user: ada,
    project,
    repository: { name: project.name, url: project.url, description: '', homepage: project.web_url },
    object_attributes: mergeRequest({ url: `${project.web_url}/-/merge_requests/5`, ...fields }),
    labels: [],
    changes: {},
    assignees: [],
    reviewers: [],
  };
}

export function issueEvent(on: GitlabProject, action = 'open'): Record<string, unknown> {
  const project = projectOf(on);
  return {
    object_kind: 'issue',
    event_type: 'issue',
    user: ada,
    project,
    object_attributes: {
      id: 301,
      iid: 23,
      title: 'The basket is empty',
      state: 'opened',
      url: `${project.web_url}/-/issues/23`,
      action,
    },
    labels: [],
  };
}

export function noteEvent(
  on: GitlabProject,
  note: { text?: string; isOnIssue?: boolean; fields?: Record<string, unknown> } = {},
): Record<string, unknown> {
  const project = projectOf(on);
  const { text = 'Please count twice.', isOnIssue = false, fields = {} } = note;
  const page = isOnIssue ? 'issues/23' : 'merge_requests/5';
  return {
    object_kind: 'note',
    event_type: 'note',
    user: ada,
    project_id: 41,
    project,
    object_attributes: {
      id: 1_244,
      note: text,
      noteable_type: isOnIssue ? 'Issue' : 'MergeRequest',
      author_id: 7,
      system: false,
      noteable_id: 1_200,
      action: 'create',
      url: `${project.web_url}/-/${page}#note_1244`,
      ...fields,
    },
    ...(isOnIssue ? { issue: { id: 301, iid: 23 } } : { merge_request: mergeRequest({}) }),
  };
}

export function pushEvent(on: GitlabProject, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    object_kind: 'push',
    event_name: 'push',
    before,
    after: sha,
    ref: 'refs/heads/basket',
    ref_protected: false,
    checkout_sha: sha,
    user_id: 7,
    user_name: 'Ada',
    user_username: 'ada',
    user_email: null,
    project_id: 41,
    project: projectOf(on),
    commits: [],
    total_commits_count: 0,
    ...fields,
  };
}

export function pipelineEvent(on: GitlabProject, status = 'failed'): Record<string, unknown> {
  const job = (id: number, name: string, state: string, mayFail = false) => ({
    id,
    stage: 'test',
    name,
    status: state,
    allow_failure: mayFail,
  });
  return {
    object_kind: 'pipeline',
    object_attributes: {
      id: 31,
      iid: 3,
      ref: 'basket',
      tag: false,
      sha,
      before_sha: before,
      source: 'push',
      status,
    },
    merge_request: { id: 1_200, iid: 5, title: 'Count the basket', source_branch: 'basket', state: 'opened' },
    user: ada,
    project: projectOf(on),
    commit: { id: sha, message: 'Count the basket' },
    builds: [job(1, 'unit', status), job(2, 'lint', 'success'), job(3, 'maybe', 'failed', true)],
  };
}

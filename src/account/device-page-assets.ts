export const deviceStyle = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0; display: grid; place-items: center; min-height: 100vh; }
main { width: min(26rem, 100vw - 3rem); padding: 1.5rem 0; }
h1 { font-size: 1.1rem; }
h2 { font-size: 1.5rem; margin: 0 0 .75rem; outline: none; }
label { display: block; margin: .75rem 0 .25rem; font-weight: 600; }
input { width: 100%; box-sizing: border-box; font: inherit; padding: .5rem; }
#user-code, #shown-code { font: 1.25rem ui-monospace, monospace; letter-spacing: .15em; }
button { font: inherit; padding: .5rem 1rem; margin: 1rem .5rem 0 0; cursor: pointer; }
button.quiet { background: none; border: 1px solid; border-radius: .25rem; }
#signed-in { margin-top: 2rem; font-size: .9rem; }
#problem:not(:empty) { border-left: .25rem solid #c62828; padding-left: .75rem; }
`;

/**
 * Runs in the browser. Every text from outside is put in by textContent. The steps are: sign-in, code, confirm, done;
 * a step is shown by name and takes the focus, so that screen readers announce it.
 */
export const deviceScript = `
'use strict';
const auth = document.body.dataset.auth;
const find = (id) => document.getElementById(id);
const steps = ['sign-in', 'code', 'confirm', 'done'];
let userCode = new URLSearchParams(location.search).get('user_code') ?? '';
let person = null;

async function call(method, path, body) {
  const answer = await fetch(auth + path, {
    method,
    credentials: 'same-origin',
    headers: body ? { 'content-type': 'application/json' } : {},
    body: body ? JSON.stringify(body) : undefined,
  });
  const content = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(content?.details || content?.error || 'The service did not answer; try again.');
  return content;
}

function show(step) {
  for (const id of steps) find(id).hidden = id !== step;
  find('signed-in').hidden = person === null;
  find('who').textContent = person?.email ?? '';
  find(step).querySelector(step === 'sign-in' || step === 'code' ? 'input' : 'h2').focus();
}

async function proceed() {
  const session = await call('GET', '/get-session');
  person = session?.user ?? null;
  if (person === null) return show('sign-in');
  if (userCode === '') return show('code');
  find('user-code').value = userCode;
  try {
    const request = await call('GET', '/device?user_code=' + encodeURIComponent(userCode));
    if (request.status !== 'pending') throw new Error('This code was used already.');
    if (!request.client_id) throw new Error('Somebody else has taken this code; start again.');
    find('client').textContent = request.client_id;
    find('person').textContent = person.email;
    find('shown-code').textContent = userCode;
    show('confirm');
  } catch (error) {
    userCode = '';
    show('code');
    throw error;
  }
}

async function decide(decision) {
  await call('POST', '/device/' + decision, { userCode });
  find('outcome').textContent = decision === 'approve' ? 'Device approved' : 'Device denied';
  show('done');
}

/** Runs one action at a time and says what went wrong. */
async function attempt(action) {
  if (document.body.dataset.busy) return;
  document.body.dataset.busy = 'yes';
  find('problem').textContent = '';
  try {
    await action();
  } catch (error) {
    find('problem').textContent = error.message;
  } finally {
    delete document.body.dataset.busy;
  }
}

function onSubmit(id, action) {
  find(id).addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(() => action(event));
  });
}

onSubmit('sign-in', async () => {
  await call('POST', '/sign-in/email', { email: find('email').value, password: find('password').value });
  find('password').value = '';
  await proceed();
});
onSubmit('code', async () => {
  userCode = find('user-code').value.trim().toUpperCase();
  await proceed();
});
onSubmit('confirm', (event) => decide(event.submitter?.value === 'approve' ? 'approve' : 'deny'));
find('sign-out').addEventListener('click', () => attempt(async () => {
  await call('POST', '/sign-out', {});
  await proceed();
}));
attempt(proceed);
`;

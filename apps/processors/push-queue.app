@App:name('push-queue')
@App:description('Rows in batches to many destinations, each with a queue, back-off and repeats of its own')
@App:processor('push.PushQueue', events = 'push, answer', emits = 'call, given_up')

@source(type = 'http', path = '/push', @map(type = 'json'))
define stream push (destination string, body string);
@source(type = 'http', path = '/answers', @map(type = 'json'))
define stream answer (destination string, batch long, status int);

define stream call (destination string, batch long, rows int, body string);
define stream given_up (destination string, body string);
